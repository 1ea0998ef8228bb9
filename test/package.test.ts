// The published package works: pack it, install the tarball into an empty folder, compile against its types, run the demo there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');

/** Runs a command with this Node first on the path and returns its stdout; a failure shows its stderr. */
function run(folder: string, command: string, ...args: string[]): string {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  return execFileSync(command, args, { cwd: folder, env, encoding: 'utf8', maxBuffer: 1 << 26, stdio: 'pipe' });
}

interface PackedFile {
  path: string;
}

test('the tarball installs into an empty folder and runs the demo there', { timeout: 300_000 }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gradus-package-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));

  const [packed] = JSON.parse(run(root, 'npm', 'pack', '--json', '--silent', '--pack-destination', folder));
  const paths: string[] = packed.files.map((file: PackedFile) => file.path);
  assert.ok(paths.includes('dist/index.js') && paths.includes('dist/index.d.ts'), 'the library is in the tarball');
  assert.ok(paths.includes('dashboard/index.html'), 'so is the page of the dashboard');
  const strays = paths.filter((path) => /^(?!templates\/).*\.test\.|^(src|test|node_modules)\/|\.pyc$/.test(path));
  assert.deepEqual(strays, []);

  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const tarball = join(folder, packed.filename);
  run(folder, 'npm', 'install', '--onnxruntime-node-install=skip', '--prefer-offline', '--no-audit', tarball);

  writeFileSync(
    join(folder, 'types.ts'),
    "import { GradusError } from 'gradus';\nexport const code: string = new GradusError('A', 'b').code;\n",
  );
  const compiler = join(root, 'node_modules', '.bin', 'tsc');
  const nodeTypes = ['--types', 'node', '--typeRoots', join(root, 'node_modules', '@types')];
  run(folder, compiler, ...'--noEmit --strict --target es2024 --module nodenext'.split(' '), ...nodeTypes, 'types.ts');

  const { problems, before, after } = JSON.parse(run(folder, 'npx', '--no-install', 'gradus', 'demo', '--json'));
  assert.ok(problems >= 500);
  assert.ok(before.accuracy <= 0.5, `before: ${before.accuracy}`);
  assert.ok(after.accuracy >= 0.95, `after: ${after.accuracy}`);
});

test('user code within a checkout gets its sources, even where it has been built', (t) => {
  const folder = mkdtempSync(join(root, '.user-code-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  run(root, 'npm', 'run', 'build', '--silent');
  writeFileSync(
    join(folder, 'own.js'),
    `import { GradusError } from 'gradus';
    export const sources = () => [Number(Boolean(GradusError) && import.meta.resolve('gradus').endsWith('/src/index.ts'))];`,
  );
  writeFileSync(join(folder, 'cases.jsonl'), '{"completion": "a", "expected": 1}');
  const test = ['rewards', 'test', '--reward', './own.js:sources', '--input', 'cases.jsonl', '--json'];
  assert.equal(JSON.parse(run(folder, process.execPath, join(root, 'bin', 'gradus'), ...test)).ok, true);
});
