// What the rules of run health look at: the steps and evaluations so far, in windows.
import type { EvaluationRecord, HeldOutChange, MetricsRecord, RewardChange } from './records.ts';
import { heldOutChange, rewardChange } from './verdict.ts';

export interface HealthSettings {
  /** Tokens at which a completion is cut off, all turns together; absent where nothing bounds them. */
  readonly maxTokens?: number;
  /** Nats a token by which sampler and trainer may differ; absent where that says nothing. */
  readonly samplerTolerance?: number;
}

export class History {
  readonly settings: HealthSettings;
  readonly #metrics: MetricsRecord[] = [];
  readonly #evaluations: EvaluationRecord[] = [];
  // Changes are costly to compute, and several rules ask for them.
  #reward: { readonly change: RewardChange | undefined } | undefined;
  /** The number of steps that makes it worth another look: it sees all of them, and a few more move it little. */
  #rewardUntil = 0;
  #heldOut: { readonly change: HeldOutChange | undefined } | undefined;

  constructor(settings: HealthSettings = {}) {
    this.settings = settings;
  }

  /** What comes after a change of stage does not compare with what was before. */
  addStep(record: MetricsRecord): void {
    if (record.stage !== this.#metrics.at(-1)?.stage) {
      this.#metrics.length = 0;
      this.#rewardUntil = 0;
    }
    this.#metrics.push(record);
    if (this.#metrics.length >= this.#rewardUntil) this.#reward = undefined;
  }

  addEvaluation(record: EvaluationRecord): void {
    this.#evaluations.push(record);
    this.#heldOut = undefined;
  }

  /** How many there were. */
  get steps(): number {
    return this.#metrics.length;
  }

  /** The number of the last one; 0 before the first. */
  get step(): number {
    return this.#metrics.at(-1)?.step ?? 0;
  }

  /** The values of a metric in the last `steps` steps; undefined if one of them lacks it or there are fewer. */
  last(metric: string, steps: number): number[] | undefined {
    const values: number[] = [];
    for (let i = this.#metrics.length - steps; i < this.#metrics.length; i++) {
      const value = this.#metrics[i]?.[metric];
      if (value === undefined) return undefined;
      values.push(value);
    }
    return values;
  }

  /** The mean of the same. */
  lastMean(metric: string, steps: number): number | undefined {
    return this.#mean(metric, this.#metrics.length - steps, steps);
  }

  /** That of the first steps, as long as they and the last have none in common. */
  firstMean(metric: string, steps: number): number | undefined {
    return this.#metrics.length < 2 * steps ? undefined : this.#mean(metric, 0, steps);
  }

  /** How the training reward changed; undefined while there are too few steps to tell. */
  get reward(): RewardChange | undefined {
    if (!this.#reward) {
      this.#reward = { change: rewardChange(this.#metrics) };
      this.#rewardUntil = Math.ceil(1.02 * this.#metrics.length);
    }
    return this.#reward.change;
  }

  /** Whether there are enough steps to tell, and they do not show that the reward rose. */
  get hasNotImproved(): boolean {
    return this.reward !== undefined && this.reward.learning !== 'improved';
  }

  /** How held-out accuracy changed; undefined while there are no two evaluations. */
  get heldOut(): HeldOutChange | undefined {
    this.#heldOut ??= { change: heldOutChange(this.#evaluations) };
    return this.#heldOut.change;
  }

  /** The names of the reward functions. */
  get rewardNames(): string[] {
    const keys = Object.keys(this.#metrics.at(-1) ?? {});
    const named = keys.filter((key) => key.startsWith('rewards/') && key.endsWith('/mean'));
    return named.map((key) => key.slice('rewards/'.length, -'/mean'.length));
  }

  /** Without a list of the values: most rules ask for means, after each step. */
  #mean(metric: string, from: number, steps: number): number | undefined {
    let total = 0;
    for (let i = from; i < from + steps; i++) {
      const value = this.#metrics[i]?.[metric];
      if (value === undefined) return undefined;
      total += value;
    }
    return total / steps;
  }
}
