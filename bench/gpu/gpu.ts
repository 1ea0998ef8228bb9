// Steps on this machine's GPU through WebGPU next to the CPU, for models of known shapes with random weights: nothing has to be downloaded.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../src/errors.ts';
import { deviceStatus } from '../../src/runtime/device.ts';
import { type CaseName, measureSteps, type StepTimes } from '../machine/steps.ts';
import { machine, table } from '../peers.ts';
import { largerQwen2, qwen2, smollm2, writeRandomModel } from '../random-model.ts';

interface Row {
  readonly model: string;
  readonly device: string;
  /** Absent where it failed: `error` says why. */
  readonly measured?: StepTimes;
  readonly error?: string;
}

const trainings: readonly { readonly model: string; readonly shape: object; readonly cases: readonly CaseName[] }[] = [
  { model: 'smollm2-135m', shape: smollm2, cases: ['a', 'b', 'c', 'd'] },
  { model: 'qwen2.5-0.5b', shape: qwen2, cases: ['a'] },
  { model: 'qwen2.5-1.5b', shape: largerQwen2, cases: ['a'] },
];

export async function benchmarkGpu(): Promise<void> {
  const { available, detail, fix } = deviceStatus('webgpu');
  if (!available) throw new Error(`there is no GPU to measure: ${detail} (${fix})`);
  const folder = mkdtempSync(join(tmpdir(), 'gradus-gpu-'));
  const rows: Row[] = [];
  try {
    for (const { model, shape, cases } of trainings) {
      const path = writeRandomModel(join(folder, model), { ...shape });
      for (const name of cases)
        for (const device of ['webgpu', 'cpu']) {
          const row = await measure(folder, path, name, device).catch((error) => ({ error: messageOf(error) }));
          rows.push({ model, device, ...row });
          // What was measured is kept if the machine goes away.
          console.log(JSON.stringify(rows.at(-1)));
        }
      rmSync(path, { recursive: true });
    }
    console.log(`\n${machine}; WebGPU: ${detail}\n\n${report(rows)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measure(folder: string, model: string, name: CaseName, device: string): Promise<Pick<Row, 'measured'>> {
  return { measured: await measureSteps(folder, model, name, { device }) };
}

function report(rows: readonly Row[]): string {
  const cells = ({ model, device, measured, error }: Row) =>
    measured
      ? [
          model,
          measured.case,
          device,
          measured.step_seconds.toFixed(2),
          measured.generated_tokens_per_second.toFixed(0),
          (measured.peak_bytes / 1e9).toFixed(2),
        ]
      : [model, '–', device, error ?? '', '', ''];
  return table(['model', 'case', 'device', 's a step', 'tokens a second', 'peak GB of this process'], rows.map(cells));
}
