// What this machine can do, in five minutes and without a download: rates of products, seconds a step, tokens a second, memory. For anyone's machine.
import { mkdtempSync, rmSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, release, tmpdir, totalmem } from 'node:os';
import { basename, join } from 'node:path';
import { gradusVersion } from '../../src/package/versions.ts';
import { kernelLibrary } from '../../src/runtime/kernels.ts';
import { table } from '../peers.ts';
import { smollm2, writeRandomModel } from '../random-model.ts';
import { measureRates, type Rates } from './rates.ts';
import { type CaseName, measureSteps, type StepTimes } from './steps.ts';

/** The defaults, no rounding, and no custom operators. */
const settings: readonly StepTimes['settings'][] = [
  {},
  { native: { matmul_precision: 'high' } },
  { native: { matmul_precision: 'highest' } },
];
const cases: readonly CaseName[] = ['a', 'b'];

export async function benchmarkMachine(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gradus-machine-'));
  try {
    const kernels = kernelLibrary();
    const rates = await measureRates(availableParallelism());
    const model = writeRandomModel(join(folder, 'smollm2-135m'), smollm2);
    const steps: StepTimes[] = [];
    for (const name of cases)
      for (const set of settings) {
        steps.push(await measureSteps(folder, model, name, set, titleOf(set).replace(': ', '-')));
        process.stderr.write(`case ${name} ${titleOf(set)}: ${steps.at(-1)!.step_seconds.toFixed(2)} s a step\n`);
      }
    const result = {
      gradus: gradusVersion(),
      node: process.versions.node,
      system: `${platform()} ${release()} ${arch()}`,
      processor: cpus()[0]?.model.trim(),
      cores: availableParallelism(),
      memory_bytes: totalmem(),
      kernels: 'library' in kernels ? { unit: kernels.unit, library: basename(kernels.library) } : kernels,
      gflops: rates,
      steps,
    };
    console.log(JSON.stringify(result));
    console.log(`\n${report(rates, steps)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function titleOf({ native = {} }: StepTimes['settings']): string {
  return (
    Object.entries(native)
      .map(([key, value]) => `${key}: ${value}`)
      .join() || 'nothing set'
  );
}

function report(rates: readonly Rates[], steps: readonly StepTimes[]): string {
  const rate = (value?: number) => (value === undefined ? '–' : value.toFixed(0));
  const products = rates.map(({ unit, float32, rounded, int8_8_rows }) => [
    unit,
    ...[float32, rounded, int8_8_rows].map(rate),
  ]);
  const trainings = steps.map((step) => [
    step.case,
    titleOf(step.settings),
    step.step_seconds.toFixed(2),
    step.generated_tokens_per_second.toFixed(0),
    (step.peak_bytes / 1e9).toFixed(2),
  ]);
  return [
    table(['10⁹ operations a second', 'float32', 'rounded', '8-bit weights, 8 rows'], products),
    table(['case', 'native', 's a step', 'tokens a second', 'peak GB'], trainings),
  ].join('\n\n');
}
