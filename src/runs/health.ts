// Watches a run for what practitioners know as signs of trouble: while it trains, and afterwards, with the same rules and the same answers.
import { healthRules } from './health-rules.ts';
import { type HealthSettings, History } from './history.ts';
import type { Alert, EvaluationRecord, MetricsRecord } from './records.ts';

/** An alert as one knows it afterwards. */
export interface DiagnosedAlert extends Alert {
  /** The step at which its rule had stopped to hold; absent while it holds. */
  readonly resolved_step?: number;
}

/** A rule is over once it has not held for as many steps in a row: what flickers is one alert, not many. */
const quietSteps = 10;

interface Tracked {
  alert: DiagnosedAlert;
  quiet: number;
}

/** Sees a run step by step and tells each rule once when it begins to hold. */
export class HealthMonitor {
  readonly #history: History;
  readonly #tracked: Tracked[] = [];

  constructor(settings: HealthSettings = {}) {
    this.#history = new History(settings);
  }

  /** @returns what began to hold with this step */
  step(record: MetricsRecord): Alert[] {
    this.#history.addStep(record);
    return this.#check(1);
  }

  /** @returns what began to hold with this evaluation */
  evaluation(record: EvaluationRecord): Alert[] {
    this.#history.addEvaluation(record);
    return this.#check(0);
  }

  /** Everything so far, in the order in which it began. */
  get alerts(): DiagnosedAlert[] {
    return this.#tracked.map(({ alert }) => alert);
  }

  #check(steps: number): Alert[] {
    const { step } = this.#history;
    const begun: Alert[] = [];
    for (const { id, level, why, suggestion, check } of healthRules) {
      const text = check(this.#history);
      const tracked = this.#tracked.find(({ alert }) => alert.rule === id && alert.resolved_step === undefined);
      if (text !== undefined && tracked) tracked.quiet = 0;
      else if (text !== undefined) {
        const alert: Alert = { step, level, rule: id, text, why, suggestion };
        this.#tracked.push({ alert, quiet: 0 });
        begun.push(alert);
      } else if (tracked) {
        tracked.quiet += steps;
        if (tracked.quiet >= quietSteps) tracked.alert = { ...tracked.alert, resolved_step: step };
      }
    }
    return begun;
  }
}

/** A monitor that has seen a run's records in the order in which they came about. */
export function replay(
  metrics: readonly MetricsRecord[],
  evaluations: readonly EvaluationRecord[],
  settings: HealthSettings = {},
): HealthMonitor {
  const monitor = new HealthMonitor(settings);
  let evaluated = 0;
  const evaluateUntil = (step: number) => {
    for (; evaluated < evaluations.length && evaluations[evaluated]!.step <= step; evaluated++) {
      monitor.evaluation(evaluations[evaluated]!);
    }
  };
  evaluateUntil(0);
  for (const record of metrics) {
    monitor.step(record);
    evaluateUntil(record.step);
  }
  return monitor;
}
