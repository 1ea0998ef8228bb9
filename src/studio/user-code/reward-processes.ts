// Reward functions in processes of their own, where an endless loop can be stopped and a crash harms nothing else.
import type { ChildProcess } from 'node:child_process';
import { type ErrorDetails, GradusError, messageOf } from '../../errors.ts';
import type { Judged, RemoteReward, RewardOutcome } from '../../rewards.ts';
import { endUserProcess, howItEnded, startUserProcess, type UserProgram } from './user-process.ts';

/** A reward by what it can be opened from anywhere. */
export type RewardSource =
  /** `FILE:NAME` of a function of the user's. */
  { readonly file: string } | { readonly builtin: string; readonly config: Readonly<Record<string, unknown>> };

/** What a process is asked: to open a reward, and to call it if there is something to judge. */
export interface Request {
  readonly source: RewardSource;
  readonly judged?: Judged;
}

export type Answer =
  | RewardOutcome
  | { readonly opened: true }
  /** What a reward that cannot be opened is refused with. */
  | { readonly refused: readonly [code: string, message: string, details: ErrorDetails] }
  | { readonly crashed: string };

/** Milliseconds that a process and a file may take to load. */
const loadLimit = 60_000;

const program: UserProgram = { name: 'reward-process', memory: 2 ** 30 };

/** A number of processes that share the calls of all rewards. A process starts when it is first needed. */
export class RewardProcesses implements Disposable {
  readonly #all: RewardProcess[];
  readonly #idle: RewardProcess[];
  readonly #waiting: ((process: RewardProcess) => void)[] = [];

  constructor(count: number) {
    this.#all = Array.from({ length: count }, () => new RewardProcess());
    this.#idle = [...this.#all];
  }

  /** Throws what loading it throws: `REWARD_LOAD_FAILED`. */
  async open(source: RewardSource): Promise<RemoteReward> {
    await this.#withProcess((process) => process.open(source));
    return this.reward(source);
  }

  /** One that is known to load, when it is first called. */
  reward(source: RewardSource): RemoteReward {
    return {
      call: (judged, timeLimit) =>
        this.#withProcess((process) => process.call(source, judged, timeLimit)).catch((error) => ({
          fault: { message: messageOf(error) },
        })),
    };
  }

  [Symbol.dispose](): void {
    for (const process of this.#all) process.end();
  }

  async #withProcess<T>(work: (process: RewardProcess) => Promise<T>): Promise<T> {
    const process = this.#idle.pop() ?? (await new Promise<RewardProcess>((resolve) => this.#waiting.push(resolve)));
    try {
      return await work(process);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(process);
      else this.#idle.push(process);
    }
  }
}

const shared = new Map<number, RewardProcesses>();

/** Those of this program, for as long as it runs; `undefined` for none. */
export function rewardProcesses(count: number): RewardProcesses | undefined {
  if (count === 0) return undefined;
  const processes = shared.get(count) ?? new RewardProcesses(count);
  shared.set(count, processes);
  return processes;
}

/** Does one thing at a time; a process that is broken or stuck is ended, and replaced by the next call. */
class RewardProcess {
  #child: ChildProcess | undefined;
  /** What the process has loaded. */
  readonly #opened = new Set<RewardSource>();

  async open(source: RewardSource): Promise<void> {
    if (this.#child && this.#opened.has(source)) return;
    const name = 'file' in source ? source.file : source.builtin;
    const answer = await this.#ask({ source }, loadLimit).catch((error) => {
      throw new GradusError('REWARD_LOAD_FAILED', `cannot load ${name}: ${messageOf(error)}`);
    });
    if ('refused' in answer) throw new GradusError(...answer.refused);
    this.#opened.add(source);
  }

  async call(source: RewardSource, judged: Judged, timeLimit: number): Promise<RewardOutcome> {
    await this.open(source);
    return (await this.#ask({ source, judged }, timeLimit)) as RewardOutcome;
  }

  end(): void {
    if (this.#child) endUserProcess(this.#child);
    this.#child = undefined;
    this.#opened.clear();
  }

  /** Rejects if the process ends, or takes longer than the limit, and ends it. */
  async #ask(request: Request, limit: number): Promise<Answer> {
    this.#child ??= this.#start();
    const child = this.#child;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const ended = (code: number | null, signal: string | null) => reject(new Error(howItEnded(program, code, signal)));
    const timer = setTimeout(() => reject(new Error(`it took longer than ${limit / 1000} s`)), limit);
    child.once('message', resolve).once('exit', ended).once('error', reject);
    try {
      child.send(request);
      const answer = await promise;
      if ('crashed' in answer) throw new Error(answer.crashed);
      return answer;
    } catch (error) {
      this.end();
      throw error;
    } finally {
      clearTimeout(timer);
      child.off('message', resolve).off('exit', ended).off('error', reject);
    }
  }

  #start(): ChildProcess {
    const child = startUserProcess(program);
    child.on('exit', () => {
      if (this.#child === child) this.end();
    });
    return child;
  }
}
