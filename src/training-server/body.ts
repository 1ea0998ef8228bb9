// The bodies of requests: JSON or bytes, as they are or in zstd. What is wrong with one is a `Refusal`.
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import type { Context } from 'hono';
import { messageOf } from '../errors.ts';
import { Refusal } from './refusal.ts';
import type { Body } from './submitted.ts';

/** The most bytes of a request. The library splits data of more than 5 MB into several requests. */
export const MOST_BYTES = 64 * 2 ** 20;

export async function bytesOf(c: Context): Promise<Uint8Array> {
  const bytes = await c.req.arrayBuffer().catch((error) => {
    // The client is gone, or sent too much.
    throw error instanceof Refusal ? error : new Refusal(`the request ended early: ${messageOf(error)}`);
  });
  const encoding = c.req.header('content-encoding') ?? 'identity';
  if (encoding === 'identity') return new Uint8Array(bytes);
  if (encoding !== 'zstd') throw new Refusal(`a body in ${encoding} is not read here: send it as it is, or in zstd`);
  return await promisify(zstdDecompress)(bytes, { maxOutputLength: MOST_BYTES }).catch((error) => {
    throw new Refusal(`the body is not zstd of at most ${MOST_BYTES} bytes: ${messageOf(error)}`);
  });
}

export async function bodyOf(c: Context): Promise<Body> {
  const bytes = await bytesOf(c);
  return { content: json(bytes), bytes };
}

export async function jsonBody(c: Context): Promise<unknown> {
  return json(await bytesOf(c));
}

function json(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new Refusal(`the request is not JSON: ${messageOf(error)}`);
  }
}
