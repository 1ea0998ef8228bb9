// One request to the hub, repeated if the hub is busy or the connection breaks, with one clear error if that does not help.
import { setTimeout as wait } from 'node:timers/promises';
import { bearerOf } from '../common/authorization.ts';
import { cancelled, type ErrorKind, GradusError, messageOf } from '../errors.ts';
import type { HubId, HubRepoType } from './hub-id.ts';
import type { HubSettings } from './hub-settings.ts';

/** What a request is about, for error messages. */
export interface HubSubject extends HubId {
  readonly type: HubRepoType;
  /** What the configuration calls it. @default the type */
  readonly key?: HubRepoType | 'adapter';
}

export interface HubRequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Whether the whole answer, a short one, must come before the connection counts as silent. @default its beginning */
  readonly whole?: boolean;
}

/** Number of attempts. */
export const ATTEMPTS = 5;
/** The longest `Retry-After` that is accepted, in seconds. */
const LONGEST_WAIT = 60;
const busyStatuses = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Returns a successful response. Throws `HUB_UNREACHABLE`, `HUB_BUSY`, `HUB_FAILED`, `HUB_GATED`, `HUB_UNAUTHORIZED`, `HUB_NOT_FOUND`,
 * `CREDENTIALS_INVALID`, `CANCELLED`.
 */
export async function hubRequest(
  settings: HubSettings,
  subject: HubSubject,
  url: string,
  { headers = {}, signal, whole = false }: HubRequestOptions = {},
): Promise<Response> {
  const { token, endpoint } = settings;
  const isHub = new URL(url).origin === new URL(endpoint).origin;
  const authorization = token && isHub ? { authorization: bearerOf(token, 'HF_TOKEN') } : {};
  for (let attempt = 1; ; attempt++) {
    const broken = new AbortController();
    const silence = abortAfterSilence(settings, broken);
    const outcome = await fetch(url, { headers: { ...headers, ...authorization }, signal: anyOf(broken, signal) })
      .then(async (response) =>
        whole && response.ok ? new Response(await response.arrayBuffer(), response) : response,
      )
      .catch((error: unknown) => ({ error }))
      .finally(() => clearTimeout(silence));
    throwIfCancelled(signal);
    if (!('error' in outcome) && outcome.ok) return outcome;
    const last = attempt === ATTEMPTS;
    if ('error' in outcome) {
      if (last || isUnknownHost(outcome.error)) throw unreachable(settings, subject, outcome.error);
    } else if (last || !busyStatuses.has(outcome.status) || retryAfter(outcome) > LONGEST_WAIT) {
      throw await refusal(settings, subject, outcome);
    }
    await pause(settings, attempt, 'error' in outcome ? 0 : retryAfter(outcome), signal);
  }
}

/** Aborts a connection after a period of silence, unless the timer is cleared before. */
export function abortAfterSilence(
  { silence }: HubSettings,
  connection: AbortController,
): ReturnType<typeof setTimeout> {
  return setTimeout(() => connection.abort(new Error('the connection went silent')), silence);
}

/** A signal that is aborted with the connection or with `signal`. */
export function anyOf(connection: AbortController, signal: AbortSignal | undefined): AbortSignal {
  return signal ? AbortSignal.any([signal, connection.signal]) : connection.signal;
}

/** Without a network, host names cannot be resolved, and waiting does not help. */
function isUnknownHost(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return cause?.code === 'ENOTFOUND' || cause?.code === 'EAI_AGAIN';
}

/** Waits before the next attempt: twice as long each time, or as long as the hub asks for. */
export async function pause(settings: HubSettings, attempt: number, seconds = 0, signal?: AbortSignal): Promise<void> {
  const wanted = Math.max(settings.firstWait * 2 ** (attempt - 1), seconds * 1000);
  await wait(wanted, undefined, signal && { signal }).catch(() => throwIfCancelled(signal));
}

/** Throws `CANCELLED`. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  throw cancelled(signal, 'the download was stopped; what came is kept', 'the same command goes on with it');
}

/** Parses `Retry-After`, a number of seconds or a date, as seconds. */
function retryAfter({ headers }: Response): number {
  const value = headers.get('retry-after') ?? '0';
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}

/** Names a repository in messages: `model org/name`, with the revision unless it is `main`. */
export function described({ type, key = type, name, revision }: HubSubject): string {
  return `${key === 'dataset' ? 'data set' : key} ${name}${revision === 'main' ? '' : `@${revision}`}`;
}

/** The key of the configuration that is to blame. */
export function keyOf({ type, key = type }: HubSubject): string {
  return key;
}

export function unreachable(settings: HubSettings, subject: HubSubject, error: unknown): GradusError {
  const { cause } = error as { cause?: unknown };
  return new GradusError(
    'HUB_UNREACHABLE',
    `cannot download ${described(subject)} from ${settings.endpoint}: ${messageOf(cause ?? error)}`,
    {
      hint: 'what was downloaded is kept; try again, or fetch it elsewhere and give its path',
      path: keyOf(subject),
      kind: 'not_ready',
      cause: error,
    },
  );
}

async function refusal(settings: HubSettings, subject: HubSubject, response: Response): Promise<GradusError> {
  // Releases the connection.
  await response.body?.cancel();
  const { code, message, hint, kind } = meaningOf(response, settings, subject);
  return new GradusError(code, message, { hint, kind, path: keyOf(subject) });
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly kind: ErrorKind;
}

/** Translates the hub's status and error code. */
function meaningOf(response: Response, { endpoint, token }: HubSettings, subject: HubSubject): Refusal {
  const { status, headers } = response;
  const reason = headers.get('x-error-code');
  const said = headers.get('x-error-message') ?? `status ${status}`;
  const what = described(subject);
  const page = `${endpoint}/${subject.type === 'dataset' ? 'datasets/' : ''}${subject.name}`;
  const logIn = 'set HF_TOKEN (or: hf auth login)';
  if (reason === 'GatedRepo') {
    return {
      code: 'HUB_GATED',
      message: `${what} is gated: its owners want terms accepted`,
      hint: `accept them at ${page}, ${token ? 'with the account of your HF_TOKEN' : `then ${logIn}`}`,
      kind: 'credentials',
    };
  }
  if (status === 404 || reason === 'RepoNotFound' || reason === 'RevisionNotFound') {
    const noRevision = reason === 'RevisionNotFound';
    return {
      code: 'HUB_NOT_FOUND',
      message: `${what} ${noRevision ? `has no revision ${subject.revision}` : 'does not exist, or is private'}`,
      hint: `check the spelling at ${page}; a private one needs HF_TOKEN`,
      kind: 'invalid',
    };
  }
  if (status === 401 || status === 403) {
    return {
      code: 'HUB_UNAUTHORIZED',
      message: `the hub refuses ${what}: ${said}`,
      hint: token ? 'check HF_TOKEN: it may be expired, or not meant for this' : logIn,
      kind: 'credentials',
    };
  }
  if (status === 429) {
    return {
      code: 'HUB_BUSY',
      message: `the hub has had too many requests to give ${what}`,
      hint: `try again in ${Math.ceil(retryAfter(response)) || 60} seconds`,
      kind: 'not_ready',
    };
  }
  return {
    code: 'HUB_FAILED',
    message: `the hub fails to give ${what}: ${said}`,
    hint: 'try again later',
    kind: 'not_ready',
  };
}
