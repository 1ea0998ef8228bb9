// Who may write where: results on stdout, everything else on stderr; under --json stdout holds one object and nothing else.
import { codeOf, GradusError, messageOf } from '../errors.ts';
import { type ExitCode, exitCodeOf } from './exit-codes.ts';
import { withoutControls } from './formatting.ts';
import { systemError } from './system-error.ts';

export interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** How a command answers: for people, as one JSON object, or as one object a line while it goes on. */
export type OutputMode = 'text' | 'json' | 'events';

export class Output {
  readonly mode: OutputMode;
  readonly stdout: Stream;
  readonly stderr: Stream;
  /** Whether stderr is a terminal that wants colours: NO_COLOR is honoured. */
  readonly color: boolean;
  #run: BegunRun | undefined;

  constructor(
    mode: OutputMode,
    stdout: Stream,
    stderr: Stream,
    environment: Readonly<Record<string, string | undefined>>,
  ) {
    this.mode = mode;
    this.stdout = stdout;
    this.stderr = stderr;
    this.color = stderr.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb';
  }

  /** A command's one result: the object, or for people its text. */
  result(result: object, text: string): void {
    if (this.mode === 'json') this.line(result);
    else if (this.mode === 'events') this.line({ type: 'result', result });
    else this.stdout.write(`${text}\n`);
  }

  /** A result that has something to show where it is a failure, too. */
  outcome<R extends { readonly ok: boolean; readonly error?: DescribedError }>(
    result: R,
    text: string,
    exit_code: ExitCode,
  ): ExitCode {
    this.result(result.ok ? result : { ...result, exit_code }, text);
    if (result.error) this.errorLine(result.error);
    return exit_code;
  }

  /** Something that happened; only those who asked for events are told. */
  event(event: object): void {
    if (this.mode === 'events') this.line(event);
  }

  /** From now on failures name this run. */
  began({ id, dir }: BegunRun): void {
    this.#run = { id, dir };
  }

  /** A line for people. */
  note(text: string): void {
    this.stderr.write(`${text}\n`);
  }

  /** Shows where an error happened, if GRADUS_DEBUG is set. */
  trace(error: unknown): void {
    if (process.env.GRADUS_DEBUG && error instanceof Error) this.note(error.stack ?? '');
  }

  /** Tells what went wrong, in one line, and as the command's one object where that was asked for. */
  failure(thrown: unknown, command: string | null): ExitCode {
    const error = systemError(thrown);
    const exit_code = exitCodeOf(error);
    this.failed({ command, error: describeError(error), exit_code });
    return exit_code;
  }

  /** Tells of an error that is described already. */
  failed(failure: { command: string | null; error: DescribedError; exit_code: ExitCode }): void {
    if (this.mode !== 'text')
      this.result({ ok: false, schema: 'error/1', ...failure, ...(this.#run && { run: this.#run }) }, '');
    const { message, hint } = failure.error;
    const dir = this.#run?.dir;
    const isNamed = dir === undefined || message.includes(dir);
    this.errorLine({ message: isNamed ? message : `${dir}: ${message}`, ...(hint !== undefined && { hint }) });
  }

  errorLine({ message, hint }: { message: string; hint?: string }): void {
    const label = this.color ? '\u001b[31merror:\u001b[39m' : 'error:';
    this.note(`${label} ${message}${hint ? ` (${hint})` : ''}`);
  }

  /** An object on a line of its own, whatever the mode. */
  line(value: object): void {
    this.stdout.write(`${JSON.stringify(value)}\n`);
  }
}

interface BegunRun {
  readonly id: string;
  readonly dir: string;
}

export interface DescribedError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly path?: string;
}

/** Any error as a code, one line and a hint. */
export function describeError(error: unknown): DescribedError {
  const { hint } = error as { hint?: unknown };
  const code = codeOf(error);
  const message = withoutControls(
    messageOf(error)
      .trim()
      .replaceAll(/\s*\n\s*/g, ' '),
  );
  return {
    code,
    message,
    ...(typeof hint === 'string' && { hint }),
    ...(code === 'UNEXPECTED' && { hint: 'set GRADUS_DEBUG=1 to see where it happened' }),
    ...(error instanceof GradusError && error.path !== undefined && { path: error.path }),
  };
}
