// The worker ends completions at stop texts by the renderer's rule.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { tinyConfig } from '../../../test/tiny-model.ts';
import { useOraclePython } from '../../../test/trl-python.ts';
import { loadConfigObject } from '../../config/load.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { backend as trlBackend } from './trl-backend.ts';

useOraclePython();
const folder = temporaryFolder('trl-stop');

test('a completion ends with the token that completes a stop text, in the worker and after it', async () => {
  const input = { ...tinyConfig(folder), backend: 'trl', stop: [...'aeiou0123456789'] } as ConfigInput;
  const { model, renderer } = await trlBackend.open(loadConfigObject(input).config);
  try {
    const { ids: promptIds } = renderer.render({ messages: [{ role: 'user', content: '2+3=' }] });
    const requests = Array.from({ length: 8 }, (_, seed) => ({ promptIds, seed }));
    const { stopTexts, stopWhen } = renderer;
    const sampling = { maxTokens: 48, stopIds: new Set<number>() };
    const policy = model.policy();
    const whole = await policy.sample(requests, sampling);
    // Without stopWhen nothing is cut afterwards: the worker itself ended these.
    const byWorker = await policy.sample(requests, { ...sampling, stopTexts: stopTexts! });
    const cutAfterwards = await policy.sample(requests, { ...sampling, stopWhen: stopWhen! });
    assert.deepEqual(
      byWorker.map(({ ids }) => ids),
      cutAfterwards.map(({ ids }) => ids),
    );
    for (const [i, { ids, finishReason }] of byWorker.entries()) {
      assert.equal(finishReason, 'stop');
      assert.deepEqual(ids, whole[i]!.ids.slice(0, ids.length));
      assert.ok(stopWhen!(ids) && !stopWhen!(ids.slice(0, -1)));
      assert.doesNotMatch(renderer.parse(ids).message.content, /[aeiou\d]/);
    }
    assert.ok(byWorker.some(({ ids }) => ids.length > 1));
  } finally {
    model.dispose();
  }
});
