// Every template makes a project that works: its own tests pass, its rewards agree with its cases, and a tiny model trains on it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gradus, onlyObject } from './gradus.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { writeTinyModel } from './tiny-model.ts';

const root = join(import.meta.dirname, '..');
const folder = temporaryFolder('init');
const model = writeTinyModel(join(folder, 'model'));
// Conversations need more room than the model was made for; its position embeddings are computed.
const configFile = join(model, 'config.json');
writeFileSync(configFile, readFileSync(configFile, 'utf8').replace(/("max_position_embeddings": )\d+/, '$1512'));

/** Settings that adapt a template's configuration to a tiny model without a chat template. */
const tiny = [`model=${model}`, 'chat_template=none', 'overlong_prompts=truncate_left', 'max_completion_length=8'];
const quick = ['max_steps=2', 'eval.limit=2', 'eval.every_steps=null', 'save.every_steps=null'];

/** Runs `python3 -m unittest`, without the packages of this machine. */
const isolatedTests = 'import sys, unittest; sys.path.insert(0, "."); unittest.main(module=None, argv=["unittest"])';

async function run(cwd: string, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await gradus([...args, '--json'], { cwd });
  assert.equal(code, 0, stdout + stderr);
  return onlyObject(stdout);
}

/** Runs Node in a project, where `gradus` is this checkout; a failure shows what it printed. */
function node(cwd: string, ...args: string[]): string {
  const env = { ...process.env };
  delete env.NODE_TEST_CONTEXT;
  return execFileSync(process.execPath, args, { cwd, env, encoding: 'utf8', stdio: 'pipe' });
}

/** Makes the sources the project's package `gradus`, from a folder outside node_modules, where Node strips types. */
function installCheckout(project: string): void {
  const checkout = join(folder, 'checkout');
  mkdirSync(checkout, { recursive: true });
  mkdirSync(join(project, 'node_modules'));
  writeFileSync(join(checkout, 'package.json'), '{"name": "gradus", "type": "module", "exports": "./index.ts"}');
  writeFileSync(join(checkout, 'index.ts'), `export * from '${join(root, 'src', 'index.ts')}';\n`);
  symlinkSync(checkout, join(project, 'node_modules', 'gradus'));
}

for (const template of ['reward', 'gsm8k', 'csv']) {
  describe(`the template ${template}`, () => {
    const project = join(folder, template);

    test('makes a project whose tests pass', async () => {
      const { files, next } = (await run(folder, 'init', project, '--template', template)) as Record<string, string[]>;
      for (const file of ['grpo.yaml', 'rewards/reward.ts', 'rewards/reward.test.ts', 'README.md', 'package.json']) {
        assert.ok(files!.includes(file), file);
      }
      assert.equal(next![0], `cd ${project}`);
      for (const check of ['gradus data check grpo.yaml --json', 'gradus preflight grpo.yaml --json'])
        assert.ok(
          next!.indexOf(check) > 0 && next!.indexOf(check) < next!.indexOf('gradus train grpo.yaml --json'),
          check,
        );
      installCheckout(project);
      assert.match(node(project, '--test'), /pass [1-9]\d*\n.*fail 0/);
    });

    test('has a reward that agrees with its cases', async () => {
      const args = ['--reward', 'rewards/reward.ts:score', '--input', 'rewards/cases.jsonl'];
      await run(project, 'rewards', 'test', ...args);
    });

    test('trains', async () => {
      const settings = [...tiny, ...quick].flatMap((setting) => ['--set', setting]);
      const { run: trained } = await run(project, 'train', 'grpo.yaml', ...settings);
      assert.deepEqual((trained as Record<string, unknown>).status, 'completed');
    });
  });
}

describe('the template env', () => {
  const project = join(folder, 'env');

  test('has an environment that passes its check, even before anything is installed', async () => {
    const { next } = (await run(folder, 'init', project, '--template', 'env')) as { next: string[] };
    assert.ok(next.indexOf('npm install --ignore-scripts') < next.indexOf('npm test'));
    const check = next.find((command) => command.startsWith('gradus env check'))!;
    assert.equal((await gradus(check.split(' ').slice(1), { cwd: project })).code, 0);
  });

  test('has problems that pass data check', async () => {
    const { checks } = (await run(
      project,
      'data',
      'check',
      'grpo.yaml',
      '--set',
      `model=${model}`,
      '--set',
      'chat_template=none',
    )) as {
      checks: { id: string; ok: boolean }[];
    };
    const found = new Map(checks.map(({ id, ok }) => [id, ok]));
    assert.deepEqual([found.get('leakage'), found.get('prompt_duplicates')], [true, true]);
  });

  test('makes a project whose tests pass', async () => {
    installCheckout(project);
    assert.match(node(project, '--test'), /pass [1-9]\d*\n.*fail 0/);
  });

  test('trains on episodes of several turns', async () => {
    const settings = [`model=${model}`, 'chat_template=none', ...quick].flatMap((setting) => ['--set', setting]);
    const { run: trained, metrics } = await run(project, 'train', 'grpo.yaml', ...settings);
    assert.deepEqual((trained as Record<string, unknown>).status, 'completed');
    const lines = readFileSync(join(project, 'runs', 'grpo', 'metrics.jsonl'), 'utf8')
      .trimEnd()
      .split('\n');
    assert.ok(lines.some((line) => JSON.parse(line)['num_turns/mean'] > 1));
    assert.ok('rewards/found/mean' in (metrics as object));
  });
});

describe('the template agent', () => {
  const project = join(folder, 'agent');

  test('has an agent that passes its check, even before anything is installed', async () => {
    const { next } = (await run(folder, 'init', project, '--template', 'agent')) as { next: string[] };
    const check = next.find((command) => command.startsWith('gradus env check'))!;
    assert.equal((await gradus(check.split(' ').slice(1), { cwd: project })).code, 0);
  });

  test('makes a project whose tests pass', () => {
    installCheckout(project);
    assert.match(node(project, '--test'), /pass [1-9]\d*\n.*fail 0/);
  });

  test('trains on the calls of the agent', async () => {
    const settings = [`model=${model}`, 'chat_template=none', ...quick].flatMap((setting) => ['--set', setting]);
    const { run: trained } = await run(project, 'train', 'grpo.yaml', ...settings);
    assert.deepEqual((trained as Record<string, unknown>).status, 'completed');
    const lines = readFileSync(join(project, 'runs', 'grpo', 'metrics.jsonl'), 'utf8')
      .trimEnd()
      .split('\n');
    assert.ok(lines.some((line) => JSON.parse(line)['agent/calls'] > 1));
  });
});

test('the TypeScript of all projects fits the types of the sources', () => {
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      typeRoots: [join(root, 'node_modules', '@types')],
      paths: { gradus: [join(root, 'src', 'index.ts')], 'gradus/*': [join(root, 'src', 'entries', '*.ts')] },
    },
    include: ['reward', 'gsm8k', 'csv', 'env', 'agent'].map((project) => `${project}/**/*.ts`),
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const compiler = join(root, 'node_modules', '.bin', 'tsc');
  const { stdout } = spawnSync(compiler, ['-p', '.', '--listFiles', '--singleThreaded'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const lines = stdout.split('\n');
  for (const file of ['csv/rewards/reward.ts', 'agent/agent.ts']) assert.ok(lines.includes(join(folder, file)), file);
  // Those of the sources are checked elsewhere.
  assert.deepEqual(
    lines.filter((line) => /^[^.\s].*error TS/.test(line)),
    [],
  );
});

describe('the template python', () => {
  const project = join(folder, 'python');
  const settings = [`model=${model}`, 'chat_template=none', ...quick].flatMap((setting) => ['--set', setting]);

  test('makes a project that needs nothing but Python, and whose tests pass', async () => {
    const { files, next } = (await run(folder, 'init', project, '--template', 'python')) as Record<string, string[]>;
    assert.ok(files!.every((file) => !file.endsWith('.ts') && file !== 'package.json'));
    assert.match(readFileSync(join(project, '.gitignore'), 'utf8'), /__pycache__/);
    assert.deepEqual(next!.slice(0, 2), [`cd ${project}`, 'python3 -m unittest']);
    const tested = spawnSync('python3', ['-IS', '-c', isolatedTests], { cwd: project, encoding: 'utf8' });
    assert.match(tested.stderr, /Ran [1-9]\d* tests[\s\S]*OK/);
    for (const command of next!.filter((line) => /^gradus (env|rewards) /.test(line)))
      await run(project, ...command.replace(' --json', '').split(' ').slice(1));
  });

  test('trains with its reward', async () => {
    const { run: trained, metrics } = await run(
      project,
      ...[
        'train',
        'grpo.yaml',
        ...settings,
        '--set',
        'overlong_prompts=truncate_left',
        '--set',
        'max_completion_length=8',
      ],
    );
    assert.equal((trained as Record<string, unknown>).status, 'completed');
    assert.ok('digits_only' in (metrics as object));
  });

  test('trains on its episodes', async () => {
    const { run: trained, metrics } = await run(project, 'train', 'episodes.yaml', ...settings);
    assert.equal((trained as Record<string, unknown>).status, 'completed');
    assert.ok('rewards/GuessNumber/mean' in (metrics as object));
  });

  test('says what is missing where there is no Python', async () => {
    for (const args of [
      ['train', 'grpo.yaml', ...settings, '--out', 'runs/none'],
      ['env', 'check', '--config', 'episodes.yaml', ...settings.slice(0, 4)],
      ['rewards', 'test', '--reward', 'rewards/reward.py:score', '--input', 'rewards/cases.jsonl'],
    ]) {
      const { code, stdout } = await gradus([...args, '--json'], {
        cwd: project,
        env: { GRADUS_PYTHON: '/no/python3' },
      });
      const { code: named, message, hint } = onlyObject(stdout).error as Record<string, string>;
      assert.deepEqual([code, named], [3, 'WORKER_MISSING'], message);
      assert.match(`${message} ${hint}`, /\/no\/python3.*GRADUS_PYTHON/);
    }
  });
});

test('nothing is overwritten', async () => {
  const project = join(folder, 'taken');
  mkdirSync(project);
  writeFileSync(join(project, 'README.md'), 'mine');
  const { code, stdout } = await gradus(['init', project, '--json'], { cwd: folder });
  assert.deepEqual([code, (onlyObject(stdout).error as { code: string }).code], [2, 'FILE_EXISTS']);
  assert.equal(readFileSync(join(project, 'README.md'), 'utf8'), 'mine');
  assert.ok(!existsSync(join(project, 'grpo.yaml')));
});

test('an existing package is not changed', async () => {
  const project = join(folder, 'package');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"name": "mine"}');
  const { files } = (await run(project, 'init')) as { files: string[] };
  assert.ok(files.includes('grpo.yaml') && !files.includes('package.json'));
  assert.equal(readFileSync(join(project, 'package.json'), 'utf8'), '{"name": "mine"}');
});

test('beside an existing package, the next commands work, too', async () => {
  for (const [name, content, ...expected] of [
    [
      'new',
      '{"type": "commonjs", "scripts": {"test": "exit 1"}, "dependencies": {"gradus": "1"}}',
      'npm install --ignore-scripts',
    ],
    ['without', '{"type": "commonjs"}', 'npm install gradus --ignore-scripts'],
    [
      'modules',
      '{"type": "module", "scripts": {"test": "exit 1"}}',
      'npm install gradus --ignore-scripts',
      'node --test env.test.ts',
    ],
    ['broken', '{', 'npm install gradus --ignore-scripts', 'node --test env.test.ts'],
  ] as const) {
    const project = join(folder, 'beside', name);
    mkdirSync(project, { recursive: true });
    writeFileSync(join(project, 'package.json'), content);
    const { next } = (await run(project, 'init', '--template', 'env')) as { next: string[] };
    assert.deepEqual(next.slice(0, next.indexOf('gradus env check --config grpo.yaml --json')), expected);
  }
  await run(join(folder, 'beside', 'new'), 'env', 'check', '--config', 'grpo.yaml');
});
