// A real model of 135 million parameters, from a 4-bit GGUF file: transformers' logits, log-probabilities and greedy text; one update.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { largestDifference, most } from '../../../test/difference.ts';
import { openModel, readJson } from '../../../test/native-models.ts';
import { sharedPath, skipWithoutShared } from '../../../test/shared.ts';
import type { NativeModel } from './native-model.ts';

interface Golden {
  readonly text: string;
  readonly ids: readonly number[];
  readonly last_top10_ids: readonly number[];
  readonly last_top10_logits: readonly number[];
  readonly max_abs_logit: number;
  readonly prompt_token_logprobs: readonly number[];
  readonly greedy_16_ids: readonly number[];
}

const folder = sharedPath('models/smollm2-135m-instruct') ?? '';
const sequence = (promptIds: readonly number[], completionIds: readonly number[]) => {
  return { promptIds, completionIds, mask: completionIds.map(() => true), advantage: 0 };
};

describe('SmolLM2-135M', { skip: skipWithoutShared('models/smollm2-135m-instruct') }, () => {
  let model: NativeModel;
  let cases: readonly Golden[];
  before(async () => {
    model = await openModel({ modelPath: folder });
    ({ cases } = readJson<{ cases: readonly Golden[] }>(folder, 'golden.json'));
  });
  after(() => model.dispose());

  test('log-probabilities of prompts', async (t) => {
    const prompts = cases.filter(({ ids }) => ids.length > 1);
    const actual = await model.logprobs(
      prompts.map(({ ids }) => sequence(ids.slice(0, 1), ids.slice(1))),
      'current',
    );
    const differences = prompts.map((golden, i) => largestDifference(actual[i]!, golden.prompt_token_logprobs));
    t.diagnostic(`differ by at most ${most(differences).toExponential(1)} of the largest`);
    assert.ok(most(differences) <= 1e-4);
  });

  test('distances between the ten largest logits', async (t) => {
    // Differences of log-probabilities equal those of logits.
    const asked = cases.flatMap(({ ids, last_top10_ids }) => last_top10_ids.map((id) => sequence(ids, [id])));
    const logprobs = (await model.logprobs(asked, 'current')).flat();
    const differences = cases.flatMap(({ last_top10_logits: logits, max_abs_logit }, i) =>
      logits.map((logit, rank) => {
        const expected = logit - logits[0]!;
        const actual = logprobs[10 * i + rank]! - logprobs[10 * i]!;
        return Math.abs(actual - expected) / max_abs_logit;
      }),
    );
    t.diagnostic(`differ by at most ${most(differences).toExponential(1)} of the largest logit`);
    assert.ok(most(differences) <= 1e-4);
  });

  test('greedy text, all prompts at once', async (t) => {
    const requests = cases.map(({ ids }) => ({ promptIds: ids, seed: 0 }));
    const options = { maxTokens: 16, temperature: 0, stopIds: new Set<number>() };
    const completions = await model.policy().sample(requests, options);
    assert.deepEqual(
      completions.map(({ ids }) => ids),
      cases.map((golden) => golden.greedy_16_ids),
    );
    const again = await model.logprobs(
      cases.map(({ ids, greedy_16_ids }) => sequence(ids, greedy_16_ids)),
      'current',
    );
    const sampled = completions.flatMap(({ plainLogprobs }) => plainLogprobs);
    const difference = largestDifference(sampled, again.flat());
    t.diagnostic(`log-probabilities of the two graphs differ by at most ${difference.toExponential(1)}`);
    assert.ok(difference <= 1e-4);
  });

  test('an update of its adapters makes rewarded completions likelier than punished ones', async () => {
    const sequences = cases.slice(0, 2).map(({ ids, greedy_16_ids }, i) => {
      return { ...sequence(ids, greedy_16_ids.slice(0, 6)), advantage: i === 0 ? 1 : -1 };
    });
    const old = await model.logprobs(sequences, 'reference');
    const { logprobs } = await model.update({ sequences }, { learningRate: 1e-3 });
    assert.ok(largestDifference(logprobs.flat(), old.flat()) <= 1e-4);
    const fresh = await model.logprobs(sequences, 'current');
    const [rewarded, punished] = fresh.map((row, i) => row.reduce((sum, logprob, c) => sum + logprob - old[i]![c]!, 0));
    assert.ok(rewarded! > punished! + 0.1, `${rewarded} and ${punished}`);
  });
});
