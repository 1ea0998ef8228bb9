// Whether this machine's processor supports our custom operators. Loads no native library.
import { existsSync, readFileSync } from 'node:fs';

/** The part of the processor that multiplies: the matrix unit, which some have, or the vector unit, with long or short vectors, or whatever there is. */
export type Unit = 'amx' | 'avx512' | 'avx2' | 'portable';

/** The processor's features that operators for each unit are compiled for, by their names in /proc/cpuinfo; better units first. */
const features: Readonly<Record<Unit, readonly string[]>> = {
  amx: ['avx512f', 'avx512bw', 'avx512_bf16', 'amx_tile', 'amx_bf16', 'amx_int8'],
  avx512: ['avx512f', 'avx512bw', 'avx512_vnni'],
  avx2: ['avx2', 'fma', 'f16c'],
  portable: [],
};

/** The compiler's flags for a unit. */
export function unitFlags(unit: Unit): string[] {
  return features[unit].map((feature) => `-m${feature.replace('avx512_', 'avx512').replace('amx_', 'amx-')}`);
}

/** The units that operators can be compiled for here, better ones first, or why there are none. */
export function unitsOfMachine(): readonly Unit[] | { readonly missing: string } {
  if (process.platform !== 'linux' || process.arch !== 'x64') return { missing: 'the system is not Linux on x86-64' };
  return unitsIn(readCpuinfo());
}

/** @param cpuinfo the text of /proc/cpuinfo */
export function unitsIn(cpuinfo: string): Unit[] {
  const units = Object.keys(features) as Unit[];
  return units.filter((unit) => present(features[unit], cpuinfo).length === features[unit].length);
}

function present(wanted: readonly string[], cpuinfo: string): string[] {
  const [, flags = ''] = /^flags\s*:(.*)$/m.exec(cpuinfo) ?? [];
  return wanted.filter((feature) => flags.split(' ').includes(feature));
}

function readCpuinfo(): string {
  return existsSync('/proc/cpuinfo') ? readFileSync('/proc/cpuinfo', 'utf8') : '';
}
