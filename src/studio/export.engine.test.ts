// Exports opened by transformers and PEFT: they say of every token what our model says.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { decodingLogits } from '../../test/decoding-logits.ts';
import { largestDifference } from '../../test/difference.ts';
import { tinyConfig } from '../../test/tiny-model.ts';
import type { ConfigInput } from '../config/schema.ts';
import { type ExportOptions, exportRun } from './export.ts';
import { train } from './train.ts';

const root = join(import.meta.dirname, '..', '..');
const python = join(root, 'python/.venv/bin/python');
const skip = !existsSync(python) && 'python/.venv is not there: run `make test-engines`';

const folder = mkdtempSync(join(tmpdir(), 'gradus-export-'));
after(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);
const ids = [1, 17, 42, 5, 30, 8, 8, 51, 23, 11];

/** Logits [position][token] by one of python/oracles, given its folders. */
function logitsBy(script: string, ...folders: readonly string[]): number[][] {
  const command = [join(root, 'python/oracles', script), ...folders];
  const input = JSON.stringify({ ids: [ids] });
  return JSON.parse(execFileSync(python, command, { input, encoding: 'utf8', stdio: 'pipe' })).logits[0];
}

const ourLogits = async (path: string) => (await decodingLogits(path, ids)).flatMap((row) => [...row]);

test('a run, exported', { skip }, async (t) => {
  const lora = { r: 4, alpha: 8, target_modules: 'all-linear' };
  const config = { ...tinyConfig(folder), max_steps: 2, eval: null, save: { best: null }, lora } as ConfigInput;
  await train(config, { out: at('run') });
  const write = (name: string, options: Omit<ExportOptions, 'out'>) =>
    exportRun(at('run'), { out: at(name), ...options });
  await write('peft', { format: 'peft' });
  const base = await ourLogits(at('model'));

  for (const dtype of ['float32', 'bfloat16'] as const) {
    await t.test(`merged, as ${dtype}: transformers`, async () => {
      await write(dtype, { dtype });
      const ours = await ourLogits(at(dtype));
      const difference = largestDifference(ours, logitsBy('logits.py', at(dtype)).flat());
      t.diagnostic(`${dtype}: logits differ by at most ${difference.toExponential(1)} of the largest`);
      assert.ok(difference <= 1e-5);
      assert.ok(largestDifference(base, ours) > 1e-2, 'training changed something');
    });
  }

  await t.test('the adapter on its base: PEFT', async () => {
    const theirs = logitsBy('peft_logits.py', at('model'), at('peft')).flat();
    assert.ok(largestDifference(await ourLogits(at('float32')), theirs) <= 1e-5);
  });
});
