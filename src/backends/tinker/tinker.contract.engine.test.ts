// The Tinker backend keeps the contract of backends, with SkyRL as the server, and the server reduces losses as `loss_reduction: mean` says.
// Most of the time goes into what jax compiles.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertNear } from '../../../test/assert-close.ts';
import { backendContract } from '../../../test/backend-contract.ts';
import {
  type RunningServer,
  startTinkerServer,
  withoutTinkerServer,
  writeServedModel,
} from '../../../test/tinker-server.ts';
import { tinyConfig } from '../../../test/tiny-model.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { defaultLossSettings } from '../../grpo/loss-settings.ts';
import type { TrainingSequence } from '../../training-model.ts';
import { tinkerClient } from './tinker-client.ts';
import { openTinkerModel } from './tinker-model.ts';
import type { LossReduction } from './training-data.ts';

const skip = withoutTinkerServer();
const place = mkdtempSync(join(tmpdir(), 'gradus-tinker-server-'));
let server: RunningServer | undefined;
after(() => {
  server?.stop();
  rmSync(place, { recursive: true, force: true, maxRetries: 5 });
});

backendContract({
  backend: 'tinker',
  async config(folder) {
    const model = writeServedModel(place);
    server = await startTinkerServer(place);
    return {
      ...(tinyConfig(folder) as ConfigInput),
      model,
      lora: { r: 8 },
      tinker: { base_url: server.url, base_model: 'model', loss_reduction: 'mean' },
    };
  },
  ignored: [
    'compute=modal',
    'lora=null',
    'lora.alpha=16',
    'adapter=x',
    'temperature=0.5',
    'min_p=0.1',
    'top_entropy_quantile=0.5',
    'entropy_coef=0.1',
    'max_grad_norm=0.5',
  ],
  untold: ['entropy', 'grad_norm', 'top_logprobs'],
  rounding: 1e-4,
  ...(skip !== undefined && { skip }),
});

// AdamW with an epsilon far above all gradients moves weights in proportion to them, so that the scale of a gradient can be seen.
test('the server takes the mean of losses over tokens and sequences', {
  ...(skip !== undefined && { skip }),
}, async () => {
  const client = tinkerClient({ url: server!.url, timeout: 300_000 });
  const short = { promptIds: [1, 5, 13], completionIds: [6, 20, 7, 9], mask: [true, true, true, true], advantage: 1 };
  const silent = {
    promptIds: [1],
    completionIds: new Array(12).fill(8),
    mask: new Array(12).fill(false),
    advantage: 0,
  };
  const changes = async (reduction: LossReduction, sequences: readonly TrainingSequence[]) => {
    const model = await openTinkerModel(client, {
      baseModel: 'model',
      rank: 4,
      seed: 3,
      contextLength: 64,
      parameters: { total: 1, trainable: 1 },
      loss: defaultLossSettings,
      reduction,
      optimizer: { beta1: 0, beta2: 0, epsilon: 1000, weightDecay: 0 },
    });
    const [before] = await model.logprobs([short], 'current');
    await model.updateSupervised({ sequences }, { learningRate: 2 });
    const [after] = await model.logprobs([short], 'current');
    model.dispose();
    return before!.map((logprob, t) => after![t]! - logprob);
  };
  const alone = await changes('mean', [short]);
  const gain = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  assert.ok(gain(alone) > 1e-3, `not learnt, or too little to see: ${alone}`);
  assertNear(await changes('mean', [short, silent]), alone, 1e-5);
  const wrong = await changes('sum', [short]);
  assert.ok(gain(wrong) < gain(alone) / 2, `${wrong} is not much less than ${alone}`);
});
