// Whether this machine's processor has what our own operators need. Loads no native library.
import { readFileSync } from 'node:fs';

const features = ['avx512f', 'avx512bw', 'avx512_bf16', 'amx_tile', 'amx_bf16', 'amx_int8'];

/** What this machine lacks for our own operators; says nothing about the compiler. */
export function missingForKernels(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the system is not Linux on x86-64';
  const lacking = missingFeatures(readFileSync('/proc/cpuinfo', 'utf8'));
  return lacking.length > 0 ? `the processor has no ${lacking.join(', ')}` : undefined;
}

/** What the operators need and the processor lacks. @param cpuinfo the text of /proc/cpuinfo */
export function missingFeatures(cpuinfo: string): string[] {
  const [, present = ''] = /^flags\s*:(.*)$/m.exec(cpuinfo) ?? [];
  return features.filter((feature) => !present.split(' ').includes(feature));
}
