// The library of our custom operators for ONNX Runtime, in kernels/: matrix products and attention on the matrix or vector units of x86
// processors, and element-wise operators in one pass. The system's C compiler builds it at first use.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import type { LibraryHandle } from 'koffi';
import { messageOf } from '../errors.ts';
import koffi from './koffi.ts';
import { type Unit, unitFlags, unitsOfMachine } from './processor.ts';

/** The library's path, or why there is none, in which case ONNX Runtime's operators are used. */
export type KernelLibrary = { readonly library: string; readonly unit: Unit } | { readonly missing: string };

const folder = join(import.meta.dirname, '..', '..', 'kernels');
const source = join(folder, 'operators.c');
const COMPILER = 'cc';
const flags = ['-O3', '-std=gnu11', '-shared', '-fPIC', '-pthread'];
const COMPILER_TIMEOUT = 180_000; // ms; it takes about a second

let found: KernelLibrary | undefined;
/** koffi unloads a library whose handle is collected. */
const loaded: LibraryHandle[] = [];

/** Finds the library for this machine, once per process, and compiles it if the cache does not have it. */
export function kernelLibrary(): KernelLibrary {
  found ??= findLibrary();
  return found;
}

function findLibrary(): KernelLibrary {
  const units = unitsOfMachine();
  if ('missing' in units) return units;
  let reason = '';
  for (const unit of units) {
    const library = libraryFor(unit);
    if ('library' in library) return library;
    reason ||= library.missing;
  }
  return { missing: reason };
}

/** The library for one of the units that this machine's processor has. */
export function libraryFor(unit: Unit): KernelLibrary {
  try {
    const library = compiledLibrary(unit, process.env);
    const handle = koffi.load(library);
    loaded.push(handle);
    const refused = handle.func('int gradus_request_unit()')() !== 0;
    return refused ? { missing: 'the system does not let processes use AMX' } : { library, unit };
  } catch (error) {
    return { missing: messageOf(error) };
  }
}

/** The version of a library from `kernelLibrary`, which changes with the sources. */
export function kernelVersion(library: string): string {
  return basename(library, '.so').replace('kernels-', '');
}

/** The path of the library in the user's cache; its name has a hash of kernels/ and of the flags. Throws if it cannot be compiled. */
export function compiledLibrary(unit: Unit, environment: NodeJS.ProcessEnv): string {
  const cache = join(environment.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gradus');
  const options = [...flags, ...unitFlags(unit)];
  const hash = createHash('sha256').update(options.join(' '));
  for (const name of readdirSync(folder).sort()) hash.update(readFileSync(join(folder, name)));
  const library = join(cache, `kernels-${hash.digest('hex').slice(0, 12)}.so`);
  if (existsSync(library)) return library;
  mkdirSync(cache, { recursive: true });
  // Under a temporary name until it is complete, since other processes may look for it.
  const unfinished = `${library}.${process.pid}`;
  const { error, status, stderr } = spawnSync(COMPILER, [...options, source, '-o', unfinished, '-lm'], {
    encoding: 'utf8',
    timeout: COMPILER_TIMEOUT,
    env: environment,
  });
  if (error || status !== 0) {
    rmSync(unfinished, { force: true });
    const reason = error ? messageOf(error) : (stderr.trim().split('\n')[0] ?? '');
    throw new Error(`the C compiler ${COMPILER} failed: ${reason}`);
  }
  renameSync(unfinished, library);
  return library;
}
