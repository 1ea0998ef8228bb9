// A client for Tinker servers: JSON over HTTP. Most requests are answered with an id, with which the client then polls for the result.
import type { z } from 'zod';
import { keepSecret } from '../../common/redaction.ts';
import { repeatedly, retryAfter, TryAgain } from '../../common/repeatedly.ts';
import { call } from '../../common/words.ts';
import { GradusError, messageOf, messageWithCause } from '../../errors.ts';
import { failed, future, tryAgain } from './answers.ts';

export interface TinkerServer {
  readonly url: string;
  /** Sent with each request, and to nobody else. @default none */
  readonly apiKey?: string;
  /** Milliseconds for one request, from its submission to its result. */
  readonly timeout: number;
}

export interface TinkerClient {
  /** A request that is answered at once: a POST with a body, else a GET. */
  ask<T>(schema: z.ZodType<T>, route: string, body?: object, signal?: AbortSignal): Promise<T>;
  /** A request with a result to wait for. */
  result<T>(schema: z.ZodType<T>, route: string, body: object, signal?: AbortSignal): Promise<T>;
}

/** Milliseconds after which a poll is repeated: servers keep one open for minutes, but proxies in between do not. */
const LONGEST_POLL = 45_000;
const SHORTEST_PAUSE = 50;
const LONGEST_PAUSE = 2000;

/** Failures before the server has started on a request, so it may be sent again. */
const busy: readonly number[] = [429, 503];
/** Asking for a result changes nothing, so it may be repeated after any of these. */
const passing: readonly number[] = [...busy, 408, 425, 502, 504];

interface Answer {
  readonly status: number;
  /** The pause that it asks for, in milliseconds. */
  readonly after: number;
  readonly body: unknown;
}

/**
 * Throws `TINKER_UNREACHABLE`, `TINKER_UNAUTHORIZED`, `TINKER_REFUSED` with what the server says, `TINKER_FAILED`, `TINKER_TIMEOUT`,
 * `TINKER_ANSWER_INVALID`; or the reason of a signal.
 */
export function tinkerClient({ url, apiKey, timeout }: TinkerServer): TinkerClient {
  keepSecret(apiKey ?? '');
  const base = `${url.replace(/\/+$/, '')}/api/v1/`;

  async function send(route: string, body: object | undefined, signal: AbortSignal): Promise<Answer> {
    const response = await fetch(base + route, {
      method: body ? 'POST' : 'GET',
      headers: {
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      },
      ...(body && { body: JSON.stringify(body) }),
      // The key must not be sent to wherever a server redirects.
      redirect: 'error',
      signal,
    });
    const { status, headers } = response;
    return { status, after: retryAfter(headers), body: parsed(await response.text()) };
  }

  const late = () =>
    new GradusError('TINKER_TIMEOUT', `the Tinker server at ${url} had no result after ${timeout / 1000} s`, {
      hint: 'raise tinker.timeout; a server compiles for a while when lengths are new to it',
      path: 'tinker.timeout',
      kind: 'failed',
    });

  /** Sends a request until its answer is not one of `again`. */
  async function answered(
    route: string,
    body: object | undefined,
    { again, deadline, signal, poll, what = route }: Sending,
  ): Promise<unknown> {
    const attempt = async () => {
      signal?.throwIfAborted();
      const left = deadline - Date.now();
      if (left <= 0) throw late();
      const limit = AbortSignal.timeout(Math.ceil(poll ? Math.min(left, LONGEST_POLL) : left));
      const either = signal ? AbortSignal.any([signal, limit]) : limit;
      const answer = await send(route, body, either).catch((error: unknown) => {
        signal?.throwIfAborted();
        if (error instanceof GradusError) throw error;
        if (!poll && limit.aborted) throw late();
        const fault = unreachable(url, error);
        // Until its time is up, asking for a result may be repeated even after a lost connection.
        throw poll && (limit.aborted || isLost(error)) ? new TryAgain(fault) : fault;
      });
      const isPending = poll && tryAgain.safeParse(answer.body).success;
      if (isPending || again.includes(answer.status)) throw new TryAgain(late(), answer.after);
      return accepted(answer, { url, route: what });
    };
    return await repeatedly(attempt, { first: SHORTEST_PAUSE, longest: LONGEST_PAUSE, deadline, signal });
  }

  async function ask<T>(schema: z.ZodType<T>, route: string, body?: object, signal?: AbortSignal): Promise<T> {
    const deadline = Date.now() + timeout;
    const answer = await answered(route, body, { again: busy, deadline, signal, poll: false });
    return read(schema, answer, { url, route });
  }

  return {
    ask,
    async result(schema, route, body, signal) {
      const deadline = Date.now() + timeout;
      const { request_id } = await ask(future, route, body, signal);
      const polling = { again: passing, deadline, signal, poll: true, what: route };
      const answer = await answered('retrieve_future', { request_id }, polling);
      const failure = failed.safeParse(answer);
      if (failure.success) throw refused(url, route, failure.data.error);
      return read(schema, answer, { url, route });
    },
  };
}

interface Sending {
  readonly again: readonly number[];
  /** In milliseconds, as from `Date.now`. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
  /** Whether it asks for a result, which may be repeated. */
  readonly poll: boolean;
  /** What errors call it. @default its route */
  readonly what?: string;
}

interface Place {
  readonly url: string;
  readonly route: string;
}

/** The body of an answer. Throws if the answer is an error. */
function accepted({ status, body }: Answer, { url, route }: Place): unknown {
  if (status >= 200 && status < 300) return body;
  if (status === 401 || status === 403) {
    throw new GradusError('TINKER_UNAUTHORIZED', `the Tinker server at ${url} refuses the key: ${detailOf(body)}`, {
      hint: 'set TINKER_API_KEY to a key of this server',
      kind: 'credentials',
    });
  }
  if (status < 500) throw refused(url, route, detailOf(body));
  throw new GradusError('TINKER_FAILED', `the Tinker server at ${url} failed in ${route}: ${detailOf(body)}`, {
    hint: `see the log of the server; ${call('train', undefined, { resume: true })} goes on from the last checkpoint`,
    kind: 'failed',
  });
}

function refused(url: string, route: string, detail: string): GradusError {
  return new GradusError('TINKER_REFUSED', `the Tinker server at ${url} refuses ${route}: ${detail}`, {
    hint: 'see the limits of the server: ranks, numbers of adapters, lengths, losses; docs/backends.md says what is asked of it',
    kind: 'failed',
  });
}

function unreachable(url: string, cause: unknown): GradusError {
  return new GradusError('TINKER_UNREACHABLE', `no Tinker server answers at ${url}: ${messageWithCause(cause)}`, {
    hint: 'start it, or correct tinker.base_url',
    path: 'tinker.base_url',
    kind: 'not_ready',
    cause,
  });
}

/** Whether an established connection ended. */
function isLost(error: unknown): boolean {
  const { code } = ((error as { cause?: unknown }).cause ?? {}) as { code?: unknown };
  return code === 'ECONNRESET' || code === 'UND_ERR_SOCKET' || code === 'UND_ERR_HEADERS_TIMEOUT';
}

function read<T>(schema: z.ZodType<T>, answer: unknown, { url, route }: Place): T {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue!.path.join('.') || 'the answer';
  throw new GradusError(
    'TINKER_ANSWER_INVALID',
    `the answer of ${url} to ${route} is not Tinker’s: ${where}: ${issue!.message}`,
    { hint: 'is it a Tinker server, one that answers in JSON?', path: 'tinker.base_url', kind: 'failed' },
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A server's description of an error: FastAPI’s `detail`, else the whole body. */
function detailOf(body: unknown): string {
  const { detail = body } = (body ?? {}) as { detail?: unknown };
  return messageOf(typeof detail === 'string' ? detail : JSON.stringify(detail)).slice(0, 500) || 'no reason given';
}
