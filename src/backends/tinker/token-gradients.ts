// The loss of a step as a function of log-probabilities alone, and its derivative for each of them. Tinker’s servers compute neither our losses nor
// KL divergences, but all that a model learns from is this derivative, which they take as the advantage of a token.
import { type LossSettings, usesReference, usesSamplerLogprobs } from '../../grpo/loss-settings.ts';
import { grpoLoss } from '../../grpo/losses.ts';
import type { TrainingSequence } from '../../model.ts';
import { gradients } from '../../tensor/gradients.ts';
import type { Tensor } from '../../tensor/graph.ts';
import { interpret } from '../../tensor/interpret.ts';
import { input, stopGradient } from '../../tensor/ops.ts';
import { size } from '../../tensor/shape.ts';
import { type Value, value } from '../../tensor/value.ts';

export interface TokenGradients {
  readonly loss: number;
  /** Those of `grpoLoss`. */
  readonly metrics: Readonly<Record<string, number>>;
  /** ∂loss/∂logprob of each completion token; 0 where the mask is false. */
  readonly gradients: readonly (readonly number[])[];
}

type Rows = readonly (readonly number[])[];

/** @param logprobs of the completion tokens under the current weights */
export function tokenGradients(
  sequences: readonly TrainingSequence[],
  logprobs: Rows,
  settings: LossSettings,
): TokenGradients {
  const isFirst = sequences.every(({ oldLogprobs }) => oldLogprobs === undefined);
  const width = Math.max(1, ...logprobs.map((row) => row.length));
  const inputs = new Map<string, Value>();
  const matrix = (name: string, rows: Rows) => {
    const padded = rows.flatMap((row) => [...row, ...new Array<number>(width - row.length).fill(0)]);
    inputs.set(name, value(padded, [rows.length, width]));
    return input(name, 'float32', [size('R'), size('C')]);
  };
  const scalar = (name: string, number: number) => {
    inputs.set(name, value([number], []));
    return input(name, 'float32', []);
  };
  const own = (rows: readonly (readonly number[] | undefined)[]) => rows.map((row, i) => row ?? logprobs[i]!);

  const current = matrix('logprobs', logprobs);
  inputs.set(
    'advantages',
    value(
      sequences.map(({ advantage }) => advantage),
      [sequences.length, 1],
    ),
  );
  const masks = sequences.map(({ mask }) => mask.map(Number));
  const { loss, metrics } = grpoLoss(
    {
      logprobs: current,
      // In the first update of a batch, the old weights are the current ones.
      oldLogprobs: isFirst
        ? stopGradient(current)
        : matrix('old_logprobs', own(sequences.map(({ oldLogprobs }) => oldLogprobs))),
      ...(usesReference(settings) && {
        referenceLogprobs: matrix('reference_logprobs', own(sequences.map((sequence) => sequence.referenceLogprobs))),
      }),
      ...(usesSamplerLogprobs(settings) && {
        samplerLogprobs: matrix('sampler_logprobs', own(sequences.map(({ samplerLogprobs }) => samplerLogprobs))),
      }),
      advantages: input('advantages', 'float32', [size('R'), 1]),
      mask: matrix('mask', masks),
      totals: {
        tokens: scalar(
          'tokens',
          masks.flat().reduce((sum, bit) => sum + bit, 0),
        ),
        sequences: scalar('sequences', masks.filter((mask) => mask.includes(1)).length),
      },
    },
    settings,
  );
  const names = Object.keys(metrics);
  const outputs: Tensor[] = [loss, gradients(loss, [current])[0]!, ...names.map((name) => metrics[name]!)];
  const [lossValue, gradient, ...measured] = interpret(outputs, Object.fromEntries(inputs));
  return {
    loss: lossValue!.data[0]!,
    metrics: Object.fromEntries(names.map((name, i) => [name, measured[i]!.data[0]!])),
    gradients: logprobs.map((row, i) => row.map((_, t) => gradient!.data[i * width + t]!)),
  };
}

/** The mean cross-entropy over completion tokens, as in supervised steps. */
export function supervisedGradients(sequences: readonly TrainingSequence[], logprobs: Rows): TokenGradients {
  const count = Math.max(1, sequences.flatMap(({ mask }) => mask).filter(Boolean).length);
  const trained = logprobs.flatMap((row, i) => row.filter((_, t) => sequences[i]!.mask[t]));
  return {
    loss: -trained.reduce((sum, logprob) => sum + logprob, 0) / count,
    metrics: {},
    gradients: sequences.map(({ mask }) => mask.map((isTrained) => (isTrained ? -1 / count : 0))),
  };
}
