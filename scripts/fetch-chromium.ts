// Fetches the Chromium that the engine test of the dashboard runs, from the npm registry: .cache/chromium.
//
//   node scripts/fetch-chromium.ts
//
// The package `@sparticuz/chromium` (MIT, 67 MB) is a headless Chromium for Linux on x86_64 with the libraries that small systems lack. It is installed
// apart from this package and unpacked there. On other machines this says so and fetches nothing; the test then looks for an installed Chromium.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

export const CHROMIUM_VERSION = '153.0.0';

const folder = join(import.meta.dirname, '..', '.cache', `chromium-${CHROMIUM_VERSION}`);

/** The program, and the folder with its libraries, once fetched. */
export const chromium = { program: join(folder, 'chromium'), libraries: join(folder, 'al2023', 'lib') };

/** Fetches Chromium, unless it is there already. */
export function fetchChromium(): void {
  if (existsSync(chromium.program)) return;
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('scripts/fetch-chromium.ts: it is for Linux on x86_64');
  }
  const install = join(folder, 'package');
  mkdirSync(install, { recursive: true });
  const options = ['--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', '--silent'];
  execFileSync('npm', ['install', '--prefix', install, ...options, `@sparticuz/chromium@${CHROMIUM_VERSION}`], {
    stdio: 'inherit',
  });
  const packed = (name: string) =>
    brotliDecompressSync(readFileSync(join(install, 'node_modules', '@sparticuz', 'chromium', 'bin', `${name}.br`)));
  for (const name of ['al2023.tar', 'swiftshader.tar']) {
    const target = name === 'al2023.tar' ? join(folder, 'al2023') : folder;
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-x', '-C', target], { input: packed(name) });
  }
  // Under its name only once it is whole.
  const partial = `${chromium.program}.part`;
  writeFileSync(partial, packed('chromium'));
  chmodSync(partial, 0o755);
  rmSync(install, { recursive: true });
  renameSync(partial, chromium.program);
}

if (import.meta.main) fetchChromium();
