// The process in which environments of users are played, seen from this one: asked one thing at a time, and replaced when it hangs or ends.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { EnvAnswers, Timed } from '../../env-call.ts';
import { GradusError, messageOf } from '../../errors.ts';
import { tookLonger } from '../../time-limits.ts';
import type { NamedEnvironment } from './load-environment.ts';
import { describeThrown, errorOf, type Thrown } from './thrown.ts';
import { endUserProcess, howItEnded, startUserProcess, type UserProgram } from './user-process.ts';

export type Method = 'open' | 'buildDataset' | 'gold' | 'scoreGroup' | keyof EnvAnswers;

/** A call of an environment, or of an episode of it. */
export interface Call {
  readonly method: Method;
  readonly given?: unknown;
  /** Milliseconds that it may take once it is its turn. */
  readonly timeLimit: number;
  /** An episode. @default the call alone */
  readonly owner?: number;
}

/** A call as the process reads it. */
export interface Request extends Required<Call> {
  readonly id: number;
  readonly environment: number;
}

/** What the process says. */
export type Report =
  | ({ readonly id: number } & (Timed<unknown> | { readonly thrown: Thrown }))
  /** That call waits for something: the next may begin. */
  | { readonly id: number; readonly waits: true }
  /** Code that an owner had left behind has thrown, with nobody to catch it. */
  | { readonly owner: number; readonly crashed: Thrown }
  /** The process ends, at the wish of that owner, if it is known. */
  | { readonly exits: number | undefined };

/** What opening an environment tells. */
export interface OpenedEnvironment {
  readonly scores: readonly string[];
  readonly has: readonly ('buildDataset' | 'scoreGroup' | 'gold')[];
}

/** An environment in the process, and in each that takes its place. */
export interface HostedEnvironment extends NamedEnvironment {
  readonly number: number;
}

/** A call that has no answer yet. */
interface Sent {
  readonly call: Call;
  readonly owner: number;
  readonly resolve: (answer: Timed<unknown>) => void;
  readonly reject: (error: Error) => void;
  /** From its beginning, which is when those before it are answered or wait, to its end, at the latest. */
  timer?: NodeJS.Timeout;
  waits: boolean;
}

/** Makes calls in the process of this number. */
export type CatchUp = (process: number, make: (call: Call) => Promise<Timed<unknown>>) => Promise<void>;

/** The process ended, and a call that it had, and may have begun, is not known to be the cause. */
class ProcessLost extends Error {
  readonly hasBegun: boolean;

  constructor(hasBegun: boolean) {
    super('its process ended');
    this.hasBegun = hasBegun;
  }
}

/** Milliseconds that a process and a file may take to load. */
const loadLimit = 60_000;

/** Milliseconds after which code that should have been stopped in the process itself must be blocking it. */
const grace = 1000;

/** What a process that has ended was sent need not be known to have failed: its end will be. */
const unheard = () => {};

export class EnvironmentHost implements Disposable {
  readonly #program: UserProgram;
  #child: ChildProcess | undefined;
  /** How many processes there have been. */
  #processes = 0;
  #numbers = 0;
  readonly #opened = new Map<number, OpenedEnvironment>();
  /** In the order in which they are made. */
  readonly #sent = new Map<number, Sent>();
  /** What went wrong for owners that did not ask anything just then. */
  readonly #faults = new Map<number, Thrown>();
  #lastTurn: Promise<unknown> = Promise.resolve();

  /** @param memory bytes that a process may take */
  constructor(memory = 2 ** 31) {
    this.#program = { name: 'environment-process', memory };
  }

  /** Unique in this program. */
  nextNumber(): number {
    return this.#numbers++;
  }

  /** Throws what `loadEnvironment` throws, and `ENVIRONMENT_LOAD_FAILED` where loading does not end or ends the process. */
  open(environment: HostedEnvironment): Promise<OpenedEnvironment> {
    return this.#untilAnswered(() => this.#inTurn(() => this.#open(environment)));
  }

  /**
   * Rejects with what the environment's code throws, with a `TimeLimitError`, and with how it ended its process. Where others were under way in it
   * then, nobody knows whose fault that was: all are called again in another process, each alone.
   * @param catchUp makes the calls that must come before this one, if the process has not had them
   */
  async call(environment: HostedEnvironment, call: Call, catchUp?: CatchUp): Promise<Timed<unknown>> {
    return this.#untilAnswered(async (alone) => {
      const { outcome } = await this.#inTurn(async () => {
        await this.#open(environment);
        await catchUp?.(this.#processes, (before) => this.#send(environment, before));
        const outcome = this.#send(environment, call);
        if (alone) await outcome;
        return { outcome };
      });
      return outcome;
    });
  }

  /** Nothing more is asked for that owner. */
  release(owner: number): void {
    this.#faults.delete(owner);
    this.#child?.send({ release: owner }, unheard);
  }

  [Symbol.dispose](): void {
    if (this.#child) this.#ended(this.#child, new Error('its process was ended'));
  }

  async #untilAnswered<T>(work: (alone: boolean) => Promise<T>): Promise<T> {
    for (let alone = false; ; ) {
      try {
        return await work(alone);
      } catch (error) {
        if (!(error instanceof ProcessLost)) throw error;
        alone ||= error.hasBegun;
      }
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => {});
    return turn;
  }

  async #open(environment: HostedEnvironment): Promise<OpenedEnvironment> {
    const { number, reference, settings, path } = environment;
    this.#child ??= this.#start();
    const known = this.#opened.get(number);
    if (known) return known;
    const call = { method: 'open', given: { reference, settings, path }, timeLimit: loadLimit } as const;
    const { answer } = await this.#send(environment, call).catch((error) => {
      if (error instanceof GradusError || error instanceof ProcessLost) throw error;
      throw new GradusError('ENVIRONMENT_LOAD_FAILED', `cannot load ${reference}: ${messageOf(error)}`, {
        path: reference,
      });
    });
    this.#opened.set(number, answer as OpenedEnvironment);
    return answer as OpenedEnvironment;
  }

  #send({ number }: HostedEnvironment, call: Call): Promise<Timed<unknown>> {
    const { owner = this.nextNumber(), given, timeLimit, method } = call;
    const { promise, resolve, reject } = Promise.withResolvers<Timed<unknown>>();
    promise.catch(() => {}); // whoever asked hears of it a moment later
    const fault = this.#faults.get(owner);
    if (fault) reject(errorOf(fault));
    else if (!this.#child) reject(new ProcessLost(false));
    else {
      const id = this.nextNumber();
      this.#child.send({ ...{ id, owner, environment: number }, method, given, timeLimit } satisfies Request, unheard);
      this.#sent.set(id, { ...{ call, owner, resolve, reject }, waits: false });
      this.#watch();
    }
    return promise;
  }

  /** Limits the time of the call that is being made. */
  #watch(): void {
    const [id, sent] = this.#sent.entries().find(([, { waits }]) => !waits) ?? [];
    if (!sent || sent.timer) return;
    const child = this.#child!;
    const { method, timeLimit } = sent.call;
    const late = () => this.#sent.has(id!) && this.#ended(child, tookLonger(method, timeLimit));
    // An answer may lie there unread when it is time: this process may have been stopped for a while.
    sent.timer = setTimeout(() => setImmediate(late), timeLimit + grace);
  }

  #start(): ChildProcess {
    const child = startUserProcess(this.#program);
    this.#processes++;
    let guilty: number | undefined;
    child.on('message', (report: Report | string) => {
      // User code may speak, too; whatever it says means nothing.
      if (!(report instanceof Object)) return;
      if ('exits' in report) guilty = report.exits;
      else if (this.#child === child) this.#hear(report);
    });
    // All that it said has been heard by then.
    Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(
      ([[code, signal]]) => this.#ended(child, new Error(howItEnded(this.#program, code, signal)), guilty),
      (error) => this.#ended(child, error),
    );
    return child;
  }

  #hear(report: Exclude<Report, { exits: unknown }>): void {
    if ('crashed' in report) {
      const { owner, crashed } = report;
      const [id] = this.#sent.entries().find(([, { timer, ...sent }]) => timer && sent.owner === owner) ?? [];
      if (id === undefined) this.#faults.set(owner, crashed);
      else this.#settle(id, ({ reject }) => reject(errorOf(crashed)));
    } else if ('waits' in report) {
      const sent = this.#sent.get(report.id);
      if (sent) sent.waits = true;
    } else if ('thrown' in report) this.#settle(report.id, ({ reject }) => reject(errorOf(report.thrown)));
    else this.#settle(report.id, ({ resolve }) => resolve(report));
    this.#watch();
  }

  #settle(id: number, how: (sent: Sent) => void): void {
    const sent = this.#sent.get(id);
    if (!sent) return;
    clearTimeout(sent.timer);
    this.#sent.delete(id);
    how(sent);
  }

  /** Another takes its place when something is asked next. */
  #ended(child: ChildProcess, why: Error, guilty?: number): void {
    endUserProcess(child);
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#opened.clear();
    const all = [...this.#sent];
    const begun = all.filter(([, { timer }]) => timer);
    for (const [id, { owner, timer }] of all) {
      const isKnown = owner === guilty || (timer !== undefined && begun.length === 1);
      this.#settle(id, ({ reject }) => reject(isKnown ? why : new ProcessLost(timer !== undefined)));
    }
    if (guilty !== undefined && all.every(([, { owner }]) => owner !== guilty)) {
      this.#faults.set(guilty, describeThrown(why));
    }
  }
}

let shared: EnvironmentHost | undefined;

/** That of this program, for as long as it runs. */
export function environmentHost(): EnvironmentHost {
  shared ??= new EnvironmentHost();
  return shared;
}
