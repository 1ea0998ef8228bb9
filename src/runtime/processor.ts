// Whether this machine's processor has what our own operators need. Loads no native library.
import { readFileSync } from 'node:fs';

/** What multiplies: the matrix unit, which some processors have, or the vector unit. */
export type Unit = 'amx' | 'avx512';

/** The processor's features that operators for each unit are compiled for, by their names in /proc/cpuinfo; better units first. */
const features: Readonly<Record<Unit, readonly string[]>> = {
  amx: ['avx512f', 'avx512bw', 'avx512_bf16', 'amx_tile', 'amx_bf16', 'amx_int8'],
  avx512: ['avx512f', 'avx512bw', 'avx512_vnni'],
};

/** The compiler's flags for a unit. */
export function unitFlags(unit: Unit): string[] {
  return features[unit].map((feature) => `-m${feature.replace('avx512_', 'avx512').replace('amx_', 'amx-')}`);
}

/** What this machine lacks for our own operators; says nothing about the compiler. */
export function missingForKernels(): string | undefined {
  const units = unitsOfMachine();
  return 'missing' in units ? units.missing : undefined;
}

/** The units that operators can be compiled for here, better ones first, or why there are none. */
export function unitsOfMachine(): readonly Unit[] | { readonly missing: string } {
  if (process.platform !== 'linux' || process.arch !== 'x64') return { missing: 'the system is not Linux on x86-64' };
  const cpuinfo = readFileSync('/proc/cpuinfo', 'utf8');
  const units = unitsIn(cpuinfo);
  if (units.length > 0) return units;
  return { missing: `the processor has no ${lacking('avx512', cpuinfo).join(', ')}` };
}

/** @param cpuinfo the text of /proc/cpuinfo */
export function unitsIn(cpuinfo: string): Unit[] {
  return (Object.keys(features) as Unit[]).filter((unit) => lacking(unit, cpuinfo).length === 0);
}

function lacking(unit: Unit, cpuinfo: string): string[] {
  const [, present = ''] = /^flags\s*:(.*)$/m.exec(cpuinfo) ?? [];
  return features[unit].filter((feature) => !present.split(' ').includes(feature));
}
