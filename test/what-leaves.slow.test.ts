// What hand-offs take from the folder of a reward, as the command shows and writes it: a project with every kind of file that must stay.
import assert from 'node:assert/strict';
import { existsSync, globSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { gradus, onlyObject } from './gradus.ts';
import { handoffConfig, writeHandoffInputs } from './handoffs.ts';
import { temporaryFolder } from './temporary-folder.ts';

const home = temporaryFolder('leaves');
const project = join(home, 'project');
const write = (path: string, text = 'x') => {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
};
const kept = ['rewards/mine.ts', 'rewards/lib/help.ts'];
const stays =
  '.env .netrc .npmrc .ssh/id_rsa .aws/credentials .bash_history node_modules/a/b.js ignored.log deep.tmp'.split(' ');
for (const path of kept) write(path, 'export const score = ({ completions }) => completions.map(() => 1);\n');
for (const path of stays) write(`rewards/${path}`);
write('.gitignore', '*.log\n*.tmp\n');
mkdirSync(join(project, '.git'));
writeHandoffInputs(project);
writeFileSync(join(project, 'c.json'), JSON.stringify({ ...handoffConfig, reward: './rewards/mine.ts:score' }));

const run = (...args: string[]) => gradus(args, { cwd: project, env: { HOME: home } });
const handoff = (to: string, out: string, ...more: string[]) =>
  run('handoff', 'c.json', '--to', to, '--out', out, ...more);

for (const to of ['unsloth', 'verl']) {
  test(`a hand-off to ${to} shows every file before it writes it, and writes no other`, async () => {
    const text = (await handoff(to, to, '--dry-run')).stdout;
    for (const path of ['mine.ts', 'lib/help.ts']) assert.ok(text.includes(`  ${path}  `), text);
    assert.match(text, /left out: 6 hidden, 2 ignored, 1 installed or made/);
    const plan = onlyObject((await handoff(to, to, '--dry-run', '--json')).stdout);
    assert.deepEqual([plan.dry_run, plan.files], [true, []]);
    assert.equal(existsSync(join(project, to)), false);
    const { stdout, code } = await handoff(to, to, '--json');
    assert.equal(code, 0);
    assert.deepEqual(onlyObject(stdout).code, plan.code);
    const written = globSync(`${to}/code/**/{*,.*}`, { cwd: project }).filter((path) =>
      statSync(join(project, path)).isFile(),
    );
    assert.deepEqual(written.sort(), [`${to}/code/0/lib/help.ts`, `${to}/code/0/mine.ts`]);
  });
}

test('a secret ends it with exit code 2 and its name, and nothing is written', async () => {
  write('rewards/lib/config.ts', `export const key = 'hf_${'AbCdEfGhIj'.repeat(4).slice(0, 34)}';`);
  const { code, stdout } = await handoff('verl', 'secret', '--json');
  const { error } = onlyObject(stdout) as { error: { code: string; message: string } };
  assert.deepEqual([code, error.code], [2, 'SECRET_FOUND']);
  assert.ok(error.message.includes(join(project, 'rewards/lib/config.ts')));
  assert.equal(existsSync(join(project, 'secret')), false);
  write('rewards/.gradusignore', 'config.ts\n');
  assert.equal((await handoff('verl', 'secret', '--json')).code, 0);
});

test('a reward in the home folder does not copy the whole home folder', async () => {
  writeFileSync(join(home, 'mine.ts'), 'export const score = () => [1];\n');
  const { code, stdout } = await handoff('verl', 'from-home', '--set', 'reward=../mine.ts:score', '--json');
  const { error } = onlyObject(stdout) as { error: { code: string } };
  assert.deepEqual([code, error.code], [2, 'CODE_FOLDER_REFUSED']);
  assert.equal(existsSync(join(project, 'from-home')), false);
});
