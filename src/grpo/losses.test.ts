// The losses: TRL's own numbers and gradients, finite differences, and that neither padding nor the split changes anything.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assertClose } from '../../test/assert-close.ts';
import { runOnnx } from '../../test/run-onnx.ts';
import { randomStream } from '../random.ts';
import { gradients } from '../tensor/gradients.ts';
import { interpret, type Value, value } from '../tensor/interpret.ts';
import { input, stopGradient } from '../tensor/ops.ts';
import { size } from '../tensor/shape.ts';
import { foldMetrics } from './loss-metrics.ts';
import { grpoLoss, type LossSettings } from './losses.ts';

interface Fixtures {
  inputs: { logprobs: number[][]; old: number[][]; ref: number[][]; advantages: number[] };
  cases: (Partial<LossSettings> & {
    on_policy: boolean;
    loss: number;
    metrics: Record<string, number>;
    gradient: number[][];
  })[];
}

/** One completion; `mask` is all ones unless given. */
interface Sequence {
  logprobs: number[];
  old: number[];
  reference: number[];
  advantage: number;
  mask?: number[];
}

interface Layout {
  /** @default the longest sequence */
  width?: number;
  /** What the places hold that no token is at. @default 0 */
  padding?: number;
  /** Of the whole optimiser step. @default those of the given sequences */
  totals?: { tokens: number; sequences: number };
  onPolicy?: boolean;
  run?: typeof runOnnx;
}

const fixtures: Fixtures = JSON.parse(readFileSync(`${import.meta.dirname}/fixtures/losses.json`, 'utf8'));
const trlSequences: Sequence[] = fixtures.inputs.logprobs.map((logprobs, i) => ({
  logprobs,
  old: fixtures.inputs.old[i]!,
  reference: fixtures.inputs.ref[i]!,
  advantage: fixtures.inputs.advantages[i]!,
}));

const defaults: LossSettings = {
  loss_type: 'dapo',
  epsilon: 0.2,
  epsilon_high: null,
  delta: null,
  beta: 0,
  log_kl: false,
  use_bias_correction_kl: true,
  importance_sampling_level: 'token',
  max_completion_length: 5,
};

const lossTypes = ['grpo', 'bnpo', 'dr_grpo', 'dapo'] as const;
const variants: Partial<LossSettings>[] = lossTypes.flatMap((loss_type) =>
  (['token', 'sequence'] as const).map((importance_sampling_level) => ({
    loss_type,
    importance_sampling_level,
    epsilon_high: 0.28,
    delta: 1.6,
    beta: 0.3,
  })),
);

function tokensOf(sequences: Sequence[]): number {
  return sequences.flatMap(({ logprobs, mask }) => mask ?? logprobs.map(() => 1)).reduce((sum, one) => sum + one, 0);
}

/** The loss, its metrics, and its gradient with respect to each log-probability, without padding. */
function evaluate(sequences: Sequence[], settings: Partial<LossSettings>, layout: Layout = {}) {
  const { padding = 0, onPolicy = false, run = (outputs, inputs) => interpret(outputs, inputs) } = layout;
  const { width = Math.max(...sequences.map(({ logprobs }) => logprobs.length)) } = layout;
  const { totals = { tokens: tokensOf(sequences), sequences: sequences.length } } = layout;
  const shape = [size('R'), size('C')];
  const logprobs = input('logprobs', 'float32', shape);
  const { loss, metrics } = grpoLoss(
    {
      logprobs,
      oldLogprobs: onPolicy ? stopGradient(logprobs) : input('old', 'float32', shape),
      referenceLogprobs: input('reference', 'float32', shape),
      advantages: input('advantages', 'float32', [size('R'), 1]),
      mask: input('mask', 'float32', shape),
      totals: { tokens: input('tokens', 'float32', []), sequences: input('sequences', 'float32', []) },
    },
    { ...defaults, ...settings },
  );
  const padded = (rows: number[][], filler: number): Value =>
    value(
      rows.flatMap((row) => [...row, ...Array<number>(width - row.length).fill(filler)]),
      [rows.length, width],
    );
  const values = run(
    [loss, gradients(loss, [logprobs])[0]!, ...Object.values(metrics)],
    {
      logprobs: padded(
        sequences.map((sequence) => sequence.logprobs),
        padding,
      ),
      old: padded(
        sequences.map((sequence) => sequence.old),
        -padding,
      ),
      reference: padded(
        sequences.map((sequence) => sequence.reference),
        padding / 2,
      ),
      advantages: value(
        sequences.map(({ advantage }) => advantage),
        [sequences.length, 1],
      ),
      mask: padded(
        sequences.map((sequence) => sequence.mask ?? sequence.logprobs.map(() => 1)),
        0,
      ),
      tokens: value([totals.tokens], []),
      sequences: value([totals.sequences], []),
    },
    { R: sequences.length, C: width },
  );
  const [lossValue, gradient, ...metricValues] = values.map(({ data }) => Array.from(data));
  return {
    loss: lossValue![0]!,
    gradient: sequences.map((sequence, i) => gradient!.slice(i * width, i * width + sequence.logprobs.length)),
    beyond: sequences.flatMap((sequence, i) => gradient!.slice(i * width + sequence.logprobs.length, (i + 1) * width)),
    metrics: Object.fromEntries(Object.keys(metrics).map((name, i) => [name, metricValues[i]![0]!])),
  };
}

function assertNear(actual: number[], expected: number[], tolerance: number, what: string): void {
  assertClose(value(actual, [actual.length]), value(expected, [expected.length]), tolerance, what);
}

function randomSequences(lengths: number[], seed: number): Sequence[] {
  const random = randomStream(seed);
  return lengths.map((length) => {
    const near = (center: number[]) => center.map((logprob) => logprob + 0.4 * random.normal());
    const old = Array.from({ length }, () => -1 - Math.abs(random.normal()));
    return { logprobs: near(old), old, reference: near(old), advantage: random.normal() };
  });
}

for (const engine of ['interpreter', 'ONNX Runtime'] as const) {
  test(`losses, metrics and gradients are TRL's, whatever padding holds: ${engine}`, () => {
    for (const { on_policy, loss, metrics, gradient, ...settings } of fixtures.cases) {
      const what = JSON.stringify({ ...settings, on_policy });
      const run = engine === 'interpreter' ? {} : { run: runOnnx };
      const ours = evaluate(trlSequences, settings, { width: 6, padding: 1e4, onPolicy: on_policy, ...run });
      assertNear([ours.loss], [loss], 1e-6, `loss of ${what}`);
      assertNear(ours.gradient.flat(), gradient.flat(), 1e-6, `gradient of ${what}`);
      assert.ok(
        ours.beyond.every((number) => number === 0),
        `padding has a gradient: ${what}`,
      );
      assert.deepEqual(Object.keys(ours.metrics).sort(), Object.keys(metrics).sort(), what);
      for (const [name, expected] of Object.entries(metrics)) {
        assertNear([ours.metrics[name]!], [expected], 1e-6, `${name} of ${what}`);
      }
    }
  });
}

test('on the tokens that were sampled from it, the policy gains nothing by length under grpo', () => {
  assert.ok(Math.abs(evaluate(trlSequences, { loss_type: 'grpo' }, { onPolicy: true }).loss) < 1e-8);
});

test('gradients are those that finite differences find', () => {
  const sequences = randomSequences([3, 5, 1, 4], 11);
  const step = 1e-6;
  for (const settings of variants) {
    const { gradient } = evaluate(sequences, settings);
    const numeric = sequences.map(({ logprobs }, r) =>
      logprobs.map((_, t) => {
        const moved = (by: number) =>
          sequences.with(r, { ...sequences[r]!, logprobs: logprobs.with(t, logprobs[t]! + by) });
        return (evaluate(moved(step), settings).loss - evaluate(moved(-step), settings).loss) / (2 * step);
      }),
    );
    assertNear(gradient.flat(), numeric.flat(), 1e-7, JSON.stringify(settings));
  }
});

test('a step is the same however it is split into micro-batches', () => {
  const sequences = randomSequences([3, 7, 1, 4, 2, 6], 5);
  const totals = { tokens: tokensOf(sequences), sequences: sequences.length };
  for (const settings of variants) {
    const whole = evaluate(sequences, settings);
    for (const [first, second] of [
      [1, 2],
      [3, 4],
      [5, 5],
    ]) {
      const parts = [sequences.slice(0, first), sequences.slice(first, second), sequences.slice(second)]
        .filter((part) => part.length > 0)
        .map((part) => evaluate(part, settings, { totals }));
      const what = JSON.stringify({ ...settings, first, second });
      assertNear([parts.reduce((sum, { loss }) => sum + loss, 0)], [whole.loss], 1e-12, what);
      assertNear(
        parts.flatMap(({ gradient }) => gradient.flat()),
        whole.gradient.flat(),
        1e-12,
        what,
      );
      const folded = foldMetrics(parts.map(({ metrics }) => metrics));
      assert.deepEqual(Object.keys(folded), Object.keys(whole.metrics));
      assertNear(Object.values(folded), Object.values(whole.metrics), 1e-12, what);
    }
  }
});

test('a sequence without tokens to learn from is as good as absent', () => {
  const some = randomSequences([3, 5, 4], 8);
  // With every ratio clipped, an empty sequence would be the lowest.
  const clipped = some.map((sequence) => ({
    ...sequence,
    advantage: -1,
    logprobs: sequence.old.map((old) => old - 1),
  }));
  const empty = { ...randomSequences([5], 9)[0]!, mask: [0, 0, 0, 0, 0] };
  const totals = { tokens: 12, sequences: 3 };
  for (const sequences of [some, clipped]) {
    for (const settings of variants) {
      const without = evaluate(sequences, settings, { totals });
      const withEmpty = evaluate([...sequences, empty], settings, { totals });
      assert.deepEqual(withEmpty.gradient.pop(), [0, 0, 0, 0, 0]);
      assert.deepEqual(withEmpty, { ...without, beyond: withEmpty.beyond });
    }
  }
});

test('shares of micro-batches add up, and of their extremes the most extreme counts', () => {
  const folded = foldMetrics([
    { loss: 1, 'clip_ratio/low_mean': 0.1, 'clip_ratio/low_min': 0.2, 'clip_ratio/high_max': 0.5 },
    { loss: 2, 'clip_ratio/low_mean': 0.2, 'clip_ratio/low_min': 0.1, 'clip_ratio/high_max': 0.25 },
    { loss: 3, 'clip_ratio/low_mean': 0.4, 'clip_ratio/low_min': 0.3, 'clip_ratio/high_max': 0.75 },
  ]);
  assert.deepEqual(folded, {
    loss: 6,
    'clip_ratio/low_mean': 0.1 + 0.2 + 0.4,
    'clip_ratio/low_min': 0.1,
    'clip_ratio/high_max': 0.75,
  });
});

test('tokens that the policy did not sample change nothing, wherever they stand', () => {
  const sequences = randomSequences([4, 3], 21);
  const { logprobs, old, reference } = sequences[0]!;
  const among = (row: number[]) => [...row.slice(0, 2), -30, -40, ...row.slice(2)];
  const observed = {
    ...sequences[0]!,
    logprobs: among(logprobs),
    old: old.toSpliced(2, 0, -1, -2),
    reference: among(reference),
    mask: [1, 1, 0, 0, 1, 1],
  };
  for (const settings of variants) {
    const plain = evaluate(sequences, settings);
    const interleaved = evaluate([observed, sequences[1]!], settings);
    assertNear([interleaved.loss], [plain.loss], 1e-12, 'loss');
    assertNear(interleaved.gradient[0]!, plain.gradient[0]!.toSpliced(2, 0, 0, 0), 1e-12, 'gradient');
    assertNear(Object.values(interleaved.metrics), Object.values(plain.metrics), 1e-12, 'metrics');
  }
});

test('a clipped token has no gradient, and only on the side that is clipped', () => {
  const token = (ratio: number, advantage: number) => ({
    logprobs: [Math.log(ratio)],
    old: [0],
    reference: [0],
    advantage,
  });
  const gradientAt = (ratio: number, advantage: number, settings: Partial<LossSettings> = {}) =>
    evaluate([token(ratio, advantage)], { epsilon_high: 0.28, ...settings }).gradient[0]![0]!;
  assert.equal(gradientAt(1.3, 1), 0);
  assertNear([gradientAt(1.25, 1)], [-1.25], 1e-12, 'below the upper bound');
  assertNear([gradientAt(1.3, -1)], [1.3], 1e-12, 'a bad token above the bounds');
  assert.equal(gradientAt(1.3, -1, { delta: 1.29 }), 0);
  assert.equal(gradientAt(0.79, -1), 0);
  assertNear([gradientAt(0.79, 1)], [-0.79], 1e-12, 'a good token below the bounds');
});

test('the KL divergence is measured on request and then changes nothing', () => {
  const silent = evaluate(trlSequences, {});
  const measured = evaluate(trlSequences, { log_kl: true, use_bias_correction_kl: false });
  assert.ok(!('kl' in silent.metrics));
  assertNear([measured.metrics.kl!], [0.007983], 1e-6, 'kl');
  assert.equal(measured.loss, silent.loss);
  assert.deepEqual(measured.gradient, silent.gradient);
});

test('a KL divergence without a reference is an error', () => {
  const tensor = (name: string) => input(name, 'float32', [2, 3]);
  const inputs = {
    logprobs: tensor('logprobs'),
    oldLogprobs: tensor('old'),
    advantages: input('advantages', 'float32', [2, 1]),
    mask: tensor('mask'),
    totals: { tokens: input('tokens', 'float32', []), sequences: input('sequences', 'float32', []) },
  };
  assert.throws(() => grpoLoss(inputs, { ...defaults, beta: 0.1 }), /referenceLogprobs/);
});
