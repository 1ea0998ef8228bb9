// The Tinker backend keeps the contract of backends, with skyrl-tx as the server. Most of the time goes into what jax compiles.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { backendContract } from '../../../test/backend-contract.ts';
import {
  type RunningServer,
  startTinkerServer,
  withoutTinkerServer,
  writeServedModel,
} from '../../../test/tinker-server.ts';
import { tinyConfig } from '../../../test/tiny-model.ts';
import type { ConfigInput } from '../../config/schema.ts';

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
