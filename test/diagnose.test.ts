// gradus runs diagnose: of a run that learnt nothing it tells what the checks before it warned of.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type ConfigInput, train } from '../src/index.ts';
import { gradus, onlyObject } from './gradus.ts';
import { tinyConfig } from './tiny-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'gradus-diagnose-'));
after(() => rmSync(folder, { recursive: true }));

test('a learning rate at which adapters learn nothing is told again, in words and as JSON', async () => {
  const out = join(folder, 'slow');
  await train({ ...tinyConfig(folder), lora: { r: 4 }, learning_rate: 1e-5, max_steps: 2 } as ConfigInput, { out });
  const { stdout } = await gradus(['runs', 'diagnose', out, '--json'], { cwd: folder });
  const { warnings } = onlyObject(stdout) as { warnings: { id: string; hint: string }[] };
  assert.match(warnings.find(({ id }) => id === 'learning_rate')!.hint, /set learning_rate/);
  const { stdout: text } = await gradus(['runs', 'diagnose', out], { cwd: folder });
  assert.match(text, /^before the first step: learning_rate: 0\.00001 is little for adapters/m);
});
