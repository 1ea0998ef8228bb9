// An adapter that we trained and saved, loaded by PEFT: its logits are the log-probabilities that our model gives.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { largestDifference, most } from '../../../test/difference.ts';
import { fixturePath, LORA, openModel, randomSequences } from '../../../test/native-models.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const python = join(root, 'python/.venv/bin/python');
const skip = !existsSync(python) && 'python/.venv is not there: run `make test-engines`';

/** Logits [sequence][position][token] of a base model under an adapter. */
function peftLogits(model: string, adapter: string, ids: readonly (readonly number[])[]): number[][][] {
  const input = JSON.stringify({ ids });
  const script = join(root, 'python/oracles/peft_logits.py');
  return JSON.parse(execFileSync(python, [script, model, adapter], { input, encoding: 'utf8', stdio: 'pipe' })).logits;
}

const settings = {
  'every linear layer': LORA,
  'some layers, another scale': { r: 3, alpha: 12, targetModules: ['v_proj', 'gate_proj'] },
};

for (const [what, lora] of Object.entries(settings)) {
  test(`PEFT loads an adapter on ${what}`, { skip }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gradus-adapter-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const modelPath = fixturePath('tiny-llama-a');
    const model = await openModel({ modelPath, lora });
    t.after(() => model.dispose());
    const sequences = randomSequences({ 1: [12], 5: [6, 9] }).map((sequence) => {
      return { ...sequence, mask: sequence.mask.map(() => true) };
    });
    for (let step = 0; step < 5; step++) await model.updateSupervised({ sequences }, { learningRate: 0.02 });
    await model.save(folder);

    const ours = await model.logprobs(sequences, 'current');
    const base = await model.logprobs(sequences, 'reference');
    const texts = sequences.map(({ promptIds, completionIds }) => [...promptIds, ...completionIds]);
    const differences = peftLogits(modelPath, folder, texts).map((logits, i) => {
      const { promptIds, completionIds } = sequences[i]!;
      const theirs = completionIds.map((id, c) => logprob(logits[promptIds.length + c - 1]!, id));
      assert.ok(largestDifference(theirs, base[i]!) > 0.01, 'the adapter does something');
      return largestDifference(ours[i]!, theirs);
    });
    t.diagnostic(`log-probabilities differ by at most ${most(differences).toExponential(1)} of the largest`);
    assert.ok(most(differences) <= 1e-4);
  });
}

function logprob(logits: readonly number[], id: number): number {
  return logits[id]! - Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
}
