// Kernels compiled for another system, as the package brings them: they have what they must and need nothing that some systems lack, and whatever does not is found out.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type LibraryDescription, libraryFaults } from '../scripts/library-faults.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = join(import.meta.dirname, '..');
const python = join(root, '.cache', 'ziglang', 'bin', 'python');
const folder = temporaryFolder('compiled');

/** What was compiled once need not be again. */
const env = { ...process.env, ZIG_GLOBAL_CACHE_DIR: join(root, '.cache', 'ziglang', 'zig') };

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8', env });
  assert.equal(status, 0, stderr);
  return stdout;
}

function describe(library: string): LibraryDescription {
  return JSON.parse(run(python, 'python/describe_libraries.py', library)) as LibraryDescription;
}

test('libraries for macOS load on every Mac that ONNX Runtime runs on', () => {
  run(process.execPath, 'scripts/compile-kernels.ts', '--into', folder, 'darwin-arm64');
  const names = readdirSync(join(folder, 'darwin-arm64'));
  assert.deepEqual(names.map((name) => name.replace(/-[0-9a-f]{12}-/, '-')).sort(), [
    'kernels-neon-dot.dylib',
    'kernels-neon-matrix.dylib',
  ]);
  const library = join(folder, 'darwin-arm64', names[0]!);
  const description = describe(library);
  assert.ok(description.exports.includes('gradus_has_blas'), 'Accelerate is looked for');
  assert.deepEqual(libraryFaults('darwin-arm64', description), []);

  const changed = readFileSync(library);
  changed[changed.length >> 2]! ^= 1;
  writeFileSync(library, changed);
  assert.deepEqual(libraryFaults('darwin-arm64', describe(library)), ['has no signature that fits']);
});

test('a library that needs a newer system, or is not ours, is noticed', () => {
  const source = join(folder, 'other.c');
  writeFileSync(
    source,
    'int os_sync_wake_by_address_any(void *, long, int);\nint wake(void *p) { return os_sync_wake_by_address_any(p, 4, 0); }\n',
  );
  const zig = ['-m', 'ziglang', 'cc', '-shared', source];
  const library = join(folder, 'other.dylib');
  run(python, ...zig, '-target', 'aarch64-macos.15.0', '-o', library);
  assert.deepEqual(libraryFaults('darwin-arm64', describe(library)), [
    'does not export RegisterCustomOps',
    'does not export gradus_request_unit',
    'imports os_sync_wake_by_address_any',
    `is named ${library}`,
    'needs macOS 15.0.0',
  ]);

  // What is linked here needs this system's C library.
  const powers = join(folder, 'powers.c');
  writeFileSync(powers, '#include <math.h>\nfloat power(float x) { return expf(x); }\n');
  const linked = join(folder, 'powers.so');
  run('cc', '-shared', '-fPIC', powers, '-o', linked, '-lm');
  const faults = libraryFaults(`linux-${process.arch}`, describe(linked));
  assert.ok(faults.includes('imports expf of GLIBC_2.27'), faults.join());
});
