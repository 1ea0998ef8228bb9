// Llamas against transformers: logits of the decoding graph, log-probabilities of the training graph, greedy text of the policy.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodingLogits } from '../../test/decoding-logits.ts';
import { largestDifference, most } from '../../test/difference.ts';
import { fixturePath, openModel, readJson } from '../../test/native-models.ts';
import { sharedPath, skipWithoutShared } from '../../test/shared.ts';
import type { NativeModel } from '../backends/native/native-model.ts';

interface Golden {
  readonly ids: readonly number[];
  /** [position][token]; where there are fewer than ids, they are of the last positions. */
  readonly logits: readonly (readonly number[])[];
  /** Of ids[1…], given what precedes each. */
  readonly logprobs: readonly number[];
  readonly greedy: readonly number[];
}

/** What llama2.c, the program that this model was made for, says of it. */
interface StoriesGolden {
  readonly prompt_ids: readonly number[];
  readonly prompt_logits_last_position: readonly number[];
  readonly prompt_logprob_of_each_next_prompt_token: readonly number[];
  readonly greedy_from_bos_ids: readonly number[];
}

function storiesGoldens(folder: string): Golden[] {
  const golden = readJson<StoriesGolden>(folder, 'golden.json');
  const { prompt_logprob_of_each_next_prompt_token: logprobs, prompt_logits_last_position: logits } = golden;
  const prompt = golden.prompt_ids.length;
  assert.deepEqual(golden.greedy_from_bos_ids.slice(0, prompt), golden.prompt_ids);
  const greedy = golden.greedy_from_bos_ids.slice(prompt);
  return [{ ids: golden.prompt_ids, logits: [logits], logprobs, greedy }];
}

const stories = sharedPath('models/stories260K') ?? '';
const tiny = (name: string) => ({
  name,
  path: fixturePath(name),
  goldens: () => readJson<{ sequences: Golden[] }>(fixturePath(name), 'golden.json').sequences,
});
const models: { name: string; path: string; goldens: () => Golden[]; skip?: string | false }[] = [
  tiny('tiny-llama-a'),
  tiny('tiny-llama-b'),
  {
    name: 'stories260K',
    path: stories,
    goldens: () => storiesGoldens(stories),
    skip: skipWithoutShared('models/stories260K'),
  },
];

for (const { name, path, goldens, skip = false } of models) {
  test(`${name}: logits of the decoding graph`, { skip }, async (t) => {
    const differences: number[] = [];
    for (const { ids, logits } of goldens()) {
      const actual = (await decodingLogits(path, ids)).slice(-logits.length);
      differences.push(...logits.map((expected, i) => largestDifference(actual[i]!, expected)));
    }
    t.diagnostic(`${name}: logits differ by at most ${most(differences).toExponential(1)} of the largest`);
    assert.ok(most(differences) <= 1e-4);
  });

  test(`${name}: log-probabilities of the training graph, of every token and after every prefix`, {
    skip,
  }, async (t) => {
    const model = await openModel({ modelPath: path });
    t.after(() => model.dispose());
    const differences: number[] = [];
    for (const { ids, logits, logprobs } of goldens()) {
      const [actual] = await logprobsOf(model, ids.slice(0, 1), [ids.slice(1)]);
      differences.push(largestDifference(actual!, logprobs));
      for (const [i, expected] of logits.entries()) {
        const prefix = ids.slice(0, ids.length - logits.length + i + 1);
        const everyToken = await logprobsOf(
          model,
          prefix,
          [...expected.keys()].map((id) => [id]),
        );
        differences.push(largestDifference(everyToken.flat(), logSoftmax(expected)));
      }
    }
    t.diagnostic(`${name}: log-probabilities differ by at most ${most(differences).toExponential(1)} of the largest`);
    assert.ok(most(differences) <= 1e-4);
  });

  test(`${name}: greedy text, and its log-probabilities by both graphs`, { skip }, async (t) => {
    const model = await openModel({ modelPath: path });
    t.after(() => model.dispose());
    for (const { ids, greedy } of goldens()) {
      const options = { maxTokens: greedy.length, temperature: 0, stopIds: new Set<number>() };
      const [completion] = await model.policy().sample([{ promptIds: ids, seed: 0 }], options);
      assert.deepEqual(completion!.ids, greedy);
      const [again] = await logprobsOf(model, ids, [greedy]);
      assert.ok(largestDifference(completion!.plainLogprobs, again!) <= 1e-4);
    }
  });
}

function logprobsOf(model: NativeModel, promptIds: readonly number[], completions: readonly (readonly number[])[]) {
  const sequences = completions.map((completionIds) => {
    return { promptIds, completionIds, mask: completionIds.map(() => true), advantage: 0 };
  });
  return model.logprobs(sequences, 'current');
}

function logSoftmax(logits: readonly number[]): number[] {
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
  return logits.map((logit) => logit - total);
}
