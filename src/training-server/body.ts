// The bodies of requests, as bytes or as JSON.
import type { Context } from 'hono';
import { bytesOf as bytesIn, jsonOf, textOf } from '../http/request-body.ts';
import type { Body } from './submitted.ts';

/** The most bytes of a request. The library splits data of more than 5 MB into several requests. */
export const MOST_BYTES = 64 * 2 ** 20;

/** Throws a `BodyFault`. */
export async function bytesOf(c: Context): Promise<Uint8Array> {
  return await bytesIn(c.req.raw, MOST_BYTES);
}

/** Throws a `BodyFault`. */
export function parsed(bytes: Uint8Array): Body {
  return { content: jsonOf(textOf(bytes)), bytes };
}

/** Throws a `BodyFault`. */
export async function bodyOf(c: Context): Promise<Body> {
  return parsed(await bytesOf(c));
}

/** Throws a `BodyFault`. */
export async function jsonBody(c: Context): Promise<unknown> {
  return (await bodyOf(c)).content;
}
