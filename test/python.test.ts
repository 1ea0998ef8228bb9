// Whole runs whose reward or environment is written in Python, trained by the native backend.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { train } from '../src/studio/train.ts';
import { tinyConfig } from './tiny-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'gradus-python-run-'));
after(() => rmSync(folder, { recursive: true }));
const short = { max_steps: 2, num_generations: 2, prompts_per_step: 2, eval: null, sample_every_steps: null } as const;

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

test('a reward in Python scores a run', async () => {
  const file = write(
    'reward.py',
    `
def score(prompts, completions, answer, log_metric, **kwargs):
    print("not for stdout")
    log_metric("seen", len(completions))
    return [len(text) / 100 for text in completions]
`,
  );
  const result = await train(
    { ...tinyConfig(folder), ...short, reward_fn: `${file}:score` },
    { out: join(folder, 'scored'), preflight: false },
  );
  assert.equal(result.run.status, 'completed');
  assert.equal(result.metrics.seen, 2);
  assert.ok(result.metrics['rewards/score/mean']! >= 0);
});

test('an environment in Python brings the problems, and asks the model that is trained', async () => {
  const file = write(
    'env.py',
    `
from datasets import Dataset

class Echo:
    def build_dataset(self, tokenizer):
        words = ["one", "two", "three", "four"]
        return Dataset.from_dict({"prompt": words, "length": [len(tokenizer.encode(word)) for word in words]})

    def score_episode(self, model, tokenizer, completion, length):
        output = model.generate(tokenizer("and")["input_ids"], max_new_tokens=3)
        return len(output[0]) + length / 100
`,
  );
  const { reward_fn: _, taskset: __, taskset_config: ___, ...config } = tinyConfig(folder);
  const result = await train(
    { ...config, ...short, environment: `${file}:Echo` },
    { out: join(folder, 'played'), preflight: false },
  );
  assert.equal(result.run.status, 'completed');
  assert.ok(result.metrics['rewards/Echo/mean']! > 1);
  const [group] = readFileSync(join(folder, 'played', 'rollouts', 'step_000001.jsonl'), 'utf8').split('\n');
  assert.match(JSON.parse(group!).prompt[0].content, /^(one|two|three|four)$/);
});
