// The problems of a configuration: columns, filters, limits, what is held out, prompts, and rows that a program made.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadConfigObject } from '../../config/load.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { GradusError } from '../../errors.ts';
import { loadRows } from './data-files.ts';
import { loadProblems, promptOf } from './problems.ts';
import { saveRows } from './save-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'gradus-problems-'));
after(() => rmSync(folder, { recursive: true }));

const rows = Array.from({ length: 40 }, (_, i) => ({
  problem: `${i} + 1`,
  solution: `${i + 1}`,
  level: i % 4,
  kind: i % 2 ? 'odd' : 'even',
}));
const dataset = join(folder, 'rows.json');
writeFileSync(dataset, JSON.stringify(rows));

const configOf = (changes: ConfigInput) =>
  loadConfigObject({ model: 'm', dataset, reward: 'exact_match', prompt_column: 'problem', eval: null, ...changes })
    .config;
const load = (changes: ConfigInput) => loadProblems(configOf(changes), []);
const isError = (code: string) => (error: unknown) => error instanceof GradusError && error.code === code;

test('columns get other names, and keep their own', async () => {
  const { train } = await load({ columns: { question: 'problem', answer: 'solution' }, prompt_column: 'question' });
  assert.deepEqual(train[3], { ...rows[3], question: '3 + 1', answer: '4' });
  await assert.rejects(load({ columns: { question: 'problems' } }), isError('COLUMN_MISSING'));
  await assert.rejects(load({ prompt_column: 'question', eval: {} }), isError('COLUMN_MISSING'));
});

test('a filter keeps rows by a value, several, a range or a regular expression', async () => {
  const count = async (filter: ConfigInput['filter']) => (await load({ filter })).train.length;
  assert.equal(await count({ level: 1 }), 10);
  assert.equal(await count({ level: [1, 2] }), 20);
  assert.equal(await count({ level: { min: 1, max: 2 } }), 20);
  assert.equal(await count({ level: { max: 0 }, kind: 'even' }), 10);
  assert.equal(await count({ problem: { matches: '^1\\d ' } }), 10);
  await assert.rejects(load({ filter: { level: 9 } }), isError('DATASET_EMPTY'));
  await assert.rejects(load({ filter: { levels: 1 } }), isError('COLUMN_MISSING'));
  assert.throws(() => configOf({ filter: { problem: { matches: '(' } } }), isError('CONFIG_INVALID'));
});

test('a limit chooses rows to train on by seed, and takes none from those held out', async () => {
  const { train, eval: heldOut } = await load({ train_limit: 5, eval: {} });
  assert.deepEqual([train.length, heldOut.length], [5, 4]);
  assert.deepEqual((await load({ train_limit: 5, eval: {} })).train, train);
  assert.notDeepEqual((await load({ train_limit: 5, eval: {}, seed: 1 })).train, train);
});

test('no row is trained on that asks what a held-out one asks, whatever else it holds', async () => {
  const again = rows.map((row) => ({ ...row, problem: ` ${row.problem}`, solution: 'in other words' }));
  const doubled = join(folder, 'doubled.json');
  writeFileSync(doubled, JSON.stringify([...rows, ...again]));
  const problems = await load({ dataset: doubled, eval: {} });
  const asked = (side: readonly { readonly problem?: unknown }[]) =>
    new Set(side.map((row) => String(row.problem).trim()));
  const trained = asked(problems.train);
  assert.ok([...asked(problems.eval)].every((problem) => !trained.has(problem)));
  assert.equal(problems.train.length + problems.eval.length + problems.leftOut!, 80);
  const other = await load({
    eval_dataset: doubled,
    dataset: saveList(rows.concat({ ...rows[0]!, problem: 'new' })),
    eval: { limit: 3 },
  });
  assert.deepEqual([other.train.length, other.eval.length, other.leftOut], [1, 3, 40]);
});

test('where an environment makes the prompts, rows are the same only if all of them is', async () => {
  const alike = rows.map((row) => ({ ...row, problem: 'Book a room.' }));
  const config = configOf({ dataset: saveList(alike), environment: 'env.ts:Env', eval: {}, prompt_column: 'question' });
  const problems = await loadProblems(config, [], { build: () => assert.fail('nothing is played') });
  assert.deepEqual([problems.train.length, problems.eval.length, problems.leftOut], [36, 4, 0]);
});

function saveList(list: readonly object[]): string {
  const path = join(folder, 'list.json');
  writeFileSync(path, JSON.stringify(list));
  return path;
}

test('prompts: system prompt by name, examples, and the row’s text or messages', () => {
  const few_shot = [{ role: 'user', content: '1 + 1' } as const, { role: 'assistant', content: '2' } as const];
  const prompt = promptOf(configOf({ system_prompt: { preset: 'reasoning_answer' }, few_shot }));
  const messages = prompt(rows[0]!);
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  );
  assert.match(messages[0]!.content, /<reasoning>\n.*\n<\/reasoning>\n<answer>\n.*\n<\/answer>$/s);
  assert.equal(messages[3]!.content, '0 + 1');
  const conversation = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
    { role: 'user', content: 'c' },
  ];
  assert.deepEqual(promptOf(configOf({}))({ problem: conversation }), conversation);
  assert.throws(
    () => configOf({ system_prompt: { preset: 'other' as 'reasoning_answer' } }),
    isError('CONFIG_INVALID'),
  );
});

test('rows that a program makes as it goes become a data set, whole or not at all', async () => {
  async function* made() {
    for (let i = 0; i < 3; i++) yield { problem: `${i}`, answer: 'ß\u2028' };
  }
  const path = join(folder, 'made.jsonl');
  assert.equal(await saveRows(path, made()), path);
  assert.deepEqual(
    await loadRows(path),
    [0, 1, 2].map((i) => ({ problem: `${i}`, answer: 'ß\u2028' })),
  );
  async function* broken() {
    yield { problem: '1' };
    throw new Error('no more');
  }
  await assert.rejects(saveRows(path, broken()), /no more/);
  assert.equal(readFileSync(path, 'utf8').split('\n').length, 4);
});
