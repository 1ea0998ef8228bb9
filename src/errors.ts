// Every error a user can meet: a stable code, one line, and a hint about what to do. Exit codes live in cli/exit-codes.ts.

/** What went wrong in the large; the command line turns it into its exit code. */
export type ErrorKind =
  /** The run or the machine failed. */
  | 'failed'
  /** Usage, configuration, data or a check says no. */
  | 'invalid'
  /** The environment lacks something: an engine, a package, a device. */
  | 'not_ready'
  /** Credentials are missing or were refused. */
  | 'credentials';

export interface ErrorDetails {
  /** What the user can do about it, in one line. */
  hint?: string;
  /** Where in the configuration or in which file, for example `lora.rank`. */
  path?: string;
  /** @default 'invalid' */
  kind?: ErrorKind;
  cause?: unknown;
}

/** An error with a stable `code` (upper case, underscores), a one-line message and a hint. */
export class GradusError extends Error {
  override readonly name = 'GradusError';
  readonly code: string;
  readonly hint: string | undefined;
  readonly path: string | undefined;
  readonly kind: ErrorKind;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
    this.path = details.path;
    this.kind = details.kind ?? 'invalid';
  }
}

/** The message of anything that was thrown, even of what has no text. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return kindOf(error);
  }
}

/** What a value is, for messages: `undefined`, `an array`, `a string`. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'object') return isObject(value) ? 'an object' : 'an array';
  return `a ${typeof value}`;
}

/** Whether a value is what `kindOf` calls an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
