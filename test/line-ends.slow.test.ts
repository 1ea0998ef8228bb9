// Files as Windows' editors and git write them, with \r\n and a byte order mark: configurations, rows, rewards and run directories mean the same.
import assert from 'node:assert/strict';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gradusHere } from './gradus.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder('line-ends');
const config = ['backend: builtin', 'taskset: digit-sum', 'max_steps: 20', 'eval: {every_steps: 10}', ''].join('\n');

const windows = (text: string) => text.replaceAll('\n', '\r\n');

async function run(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await gradusHere([...args, '--json']);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

async function train(name: string, text: string): Promise<string> {
  const [file, out] = [join(folder, `${name}.yaml`), join(folder, name)];
  writeFileSync(file, text);
  await run('train', file, '--out', out);
  return out;
}

const metricsOf = (directory: string) => readFileSync(join(directory, 'metrics.jsonl'), 'utf8');

test('a configuration with \\r\\n, and with a byte order mark, trains the same', async () => {
  const metrics = metricsOf(await train('plain', config));
  assert.equal(metricsOf(await train('windows', windows(config))), metrics);
  assert.equal(metricsOf(await train('marked', `\u{feff}${windows(config)}`)), metrics);
});

test('a run whose files have \\r\\n is read, evaluated and resumed as before', async () => {
  const plain = await train('kept', config);
  const changed = join(folder, 'changed');
  cpSync(plain, changed, { recursive: true });
  const texts = globSync('**/*.{json,jsonl,yaml}', { cwd: changed });
  assert.ok(texts.includes('metrics.jsonl') && texts.length > 5, texts.join());
  for (const name of texts) {
    const path = join(changed, name);
    writeFileSync(path, windows(readFileSync(path, 'utf8')));
  }
  const measured = async (directory: string) => (await run('eval', directory)).evaluation as { metrics: object };
  assert.deepEqual((await measured(changed)).metrics, (await measured(plain)).metrics);
  for (const [name, directory] of [
    ['kept', plain],
    ['changed', changed],
  ] as const) {
    await run('train', join(folder, 'kept.yaml'), '--out', directory, '--resume', '--set', 'max_steps=25');
    assert.equal(metricsOf(directory).trim().split(/\r?\n/).length, 25, name);
  }
  const lines = (directory: string) => metricsOf(directory).trim().split(/\r?\n/);
  assert.deepEqual(lines(changed), lines(plain));
});

test('rows in either format and a reward mean the same with \\r\\n and with \\n', async () => {
  const model = join(import.meta.dirname, '..', 'demo', 'model');
  const rows = Array.from({ length: 8 }, (_, i) => ({ question: `${10 + i}+21=`, answer: String(31 + i) }));
  const csv = rows.map(({ question, answer }) => `${question},${answer}\n`).join('');
  const texts = {
    'rows.jsonl': rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
    'rows.csv': `question,answer\n${csv}`,
    'reward.ts':
      'export const right = ({ completions, columns }) =>\n  completions.map((text, i) => Number(text === columns.answer[i]));\n',
    'sums.yaml': `model: ${model}\nchat_template: none\nreward_fn: reward.ts:right\nlora: null\nmax_completion_length: 4\nmax_steps: 2\n`,
  };
  const trained = async (name: string, rows: string) => {
    const options = ['--no-preflight', '--set', `dataset=${rows}`, '--set', 'eval=null'];
    await run('train', join(folder, 'sums.yaml'), '--out', join(folder, name), ...options);
    return metricsOf(join(folder, name));
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  const metrics = await trained('rows', 'rows.jsonl');
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), windows(text));
  assert.equal(await trained('windows-rows', 'rows.jsonl'), metrics);
  assert.equal(await trained('windows-table', 'rows.csv'), metrics);
});
