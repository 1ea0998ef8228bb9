// Compiles kernels/ for every platform that ONNX Runtime's package supports, into compiled/, which `npm pack` takes along: no user needs a compiler then.
// The compiler is zig's, from PyPI's ziglang, in an environment of its own. Names of platforms as arguments compile those alone.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { shippedLibrary, sources } from '../src/runtime/kernels.ts';
import { type Unit, unitFlags } from '../src/runtime/processor.ts';

const ZIG = 'ziglang==0.17.0';
const root = join(import.meta.dirname, '..');
const python = join(root, '.cache', 'ziglang', 'bin', 'python');

/** Zig's name of the target, and the units. The oldest systems: glibc 2.17, and macOS 13, as Node 22 needs it. */
const platforms: Readonly<Record<string, { readonly target: string; readonly units: readonly Unit[] }>> = {
  'linux-x64': { target: 'x86_64-linux-gnu.2.17', units: ['amx', 'avx512', 'avx2', 'portable'] },
  'linux-arm64': { target: 'aarch64-linux-gnu.2.17', units: ['neon-matrix', 'neon-dot', 'neon'] },
  'darwin-arm64': { target: 'aarch64-macos.13.0', units: ['neon-matrix', 'neon-dot'] },
  'win32-x64': { target: 'x86_64-windows-gnu', units: ['avx512', 'avx2', 'portable'] },
  'win32-arm64': { target: 'aarch64-windows-gnu', units: ['neon-matrix', 'neon-dot', 'neon'] },
};

function run(command: string, args: readonly string[]): void {
  const { error, status } = spawnSync(command, args, { stdio: 'inherit', cwd: root });
  if (error || status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? `exit ${status}`}`);
}

/** Zig names Arm's extensions otherwise than GCC and Clang. */
function flagsFor(unit: Unit): string[] {
  return unitFlags(unit).map((flag) => flag.replace(/^-march=armv8(\.2)?-a/, '-mcpu=generic'));
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in platforms));
if (unknown.length > 0)
  throw new Error(`no such platform: ${unknown.join(', ')} (${Object.keys(platforms).join(', ')})`);
if (!existsSync(python)) {
  run('python3', ['-m', 'venv', dirname(dirname(python))]);
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ZIG]);
}
for (const [platform, { target, units }] of Object.entries(platforms)) {
  if (wanted.length > 0 && !wanted.includes(platform)) continue;
  rmSync(join(root, 'compiled', platform), { recursive: true, force: true });
  for (const unit of units) {
    const library = shippedLibrary(platform, unit);
    mkdirSync(dirname(library), { recursive: true });
    const { flags, source } = sources();
    const math = platform.startsWith('win32') ? [] : ['-lm'];
    run(python, [
      '-m',
      'ziglang',
      'cc',
      '-target',
      target,
      ...flags,
      ...flagsFor(unit),
      '-s',
      '-w',
      source,
      '-o',
      library,
      ...math,
    ]);
    console.log(`${library.slice(root.length + 1)}: ${statSync(library).size} bytes`);
  }
}
