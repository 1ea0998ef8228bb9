// Log-probabilities and entropies of tokens: our own operator, for one thread and for several, against the interpreter.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertClose } from '../../test/assert-close.ts';
import { kernelLibraries } from '../../test/kernel-libraries.ts';
import { compileOnnx } from '../../test/run-onnx.ts';
import { randomStream } from '../random.ts';
import { interpret } from './interpret.ts';
import { lowerToOnnx } from './onnx.ts';
import { input, tokenScores, tokenScoresGradient } from './ops.ts';
import { type Value, value } from './value.ts';

interface Sizes {
  readonly tokens: number;
  readonly size: number;
  readonly vocabulary: number;
}

/** The scores, and the gradient of the hidden states. */
function graph({ tokens, size, vocabulary }: Sizes, alpha: number) {
  const operands = [
    input('hidden', 'float32', [tokens, size]),
    input('weight', 'float32', [vocabulary, size]),
    input('targets', 'int64', [tokens]),
  ] as const;
  const scores = tokenScores(...operands, alpha);
  return [scores, tokenScoresGradient(operands, scores, input('gradient', 'float32', [tokens, 3]), alpha)];
}

function draw({ tokens, size, vocabulary }: Sizes): Record<string, Value> {
  const random = randomStream(tokens + size);
  const matrix = (rows: number, columns: number) =>
    value(
      Array.from({ length: rows * columns }, () => random.normal()),
      [rows, columns],
    );
  const targets = Array.from({ length: tokens }, () => random.integer(vocabulary));
  return {
    hidden: matrix(tokens, size),
    weight: matrix(vocabulary, size),
    targets: value(targets, [tokens]),
    gradient: matrix(tokens, 3),
  };
}

test('without our own operators it cannot be lowered', () => {
  const [scores] = graph({ tokens: 1, size: 8, vocabulary: 4 }, 1);
  assert.throws(() => lowerToOnnx({ scores: scores! }), /tokenScores needs our own operators/);
});

for (const { unit, library, skip } of kernelLibraries())
  describe(`our own operator, ${unit}`, { skip }, () => {
    interface Settings {
      readonly alpha?: number;
      readonly threads?: number;
      readonly packing?: 'none' | 'rounded';
    }
    const run = (sizes: Sizes, inputs: Record<string, Value>, { alpha = 1, threads = 2, packing }: Settings = {}) => {
      using compiled = compileOnnx(graph(sizes, alpha), { threads, operators: library, ...(packing && { packing }) });
      return compiled.run(inputs);
    };
    const cases: Record<string, Sizes & { alpha?: number }> = {
      'a single token': { tokens: 1, size: 32, vocabulary: 64 },
      'no tokens': { tokens: 0, size: 32, vocabulary: 64 },
      'a vocabulary smaller than a block': { tokens: 5, size: 16, vocabulary: 7 },
      'odd sizes, at a temperature': { tokens: 37, size: 50, vocabulary: 531, alpha: 0.3 },
      'several chunks and groups': { tokens: 70, size: 64, vocabulary: 512 * 9 + 100, alpha: 0.2 },
    };
    for (const [name, { alpha = 1, ...sizes }] of Object.entries(cases)) {
      test(name, () => {
        const inputs = draw(sizes);
        const expected = interpret(graph(sizes, alpha), inputs);
        for (const [i, result] of run(sizes, inputs, { alpha }).entries())
          assertClose(result, expected[i]!, 5e-5, ['scores', 'gradient'][i]!);
      });
    }

    test('of operands that are rounded to bfloat16: exact where they are such numbers', () => {
      const sizes = cases['several chunks and groups']!;
      const inputs = draw(sizes);
      for (const name of ['hidden', 'weight'])
        inputs[name] = { ...inputs[name]!, data: inputs[name]!.data.map((x) => Math.round(x * 16) / 16) };
      const expected = interpret(graph(sizes, 1), inputs);
      const [scores, gradient] = run(sizes, inputs, { packing: 'rounded' });
      assertClose(scores!, expected[0]!, 5e-5, 'scores');
      assertClose(gradient!, expected[1]!, 2e-2, 'gradient');
    });

    test('results do not depend on the number of threads', () => {
      const sizes = cases['several chunks and groups']!;
      const [one, two, three] = [1, 2, 3].map((threads) => run(sizes, draw(sizes), { threads }));
      assert.deepEqual(two, one);
      assert.deepEqual(three, one);
    });

    test('logits of hundreds, and what is not a number', () => {
      const sizes = { tokens: 3, size: 16, vocabulary: 600 };
      const inputs = draw(sizes);
      const hidden = inputs.hidden!.data.map((x, i) => (i < 16 ? 100 * x : i === 20 ? Number.NaN : x));
      const [scores] = run(sizes, { ...inputs, hidden: { ...inputs.hidden!, data: hidden } });
      const finite = Array.from({ length: 3 }, (_, token) =>
        [...scores!.data.subarray(3 * token, 3 * token + 3)].every(Number.isFinite),
      );
      assert.deepEqual(finite, [true, false, true]);
    });

    test('targets outside the vocabulary are refused', () => {
      const sizes = { tokens: 2, size: 8, vocabulary: 5 };
      for (const target of [-1, 5]) {
        const inputs = { ...draw(sizes), targets: value([0, target], [2]) };
        assert.throws(() => run(sizes, inputs), /TokenScores: the operands do not fit/);
      }
    });
  });
