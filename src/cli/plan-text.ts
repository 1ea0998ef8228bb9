// A plan as people read it.
import { presetValues } from '../config/presets.ts';
import { valueAt } from '../config/values.ts';
import type { Plan } from '../studio/plan.ts';
import { size } from './download-progress.ts';
import { duration, shortNumber, table } from './formatting.ts';

export function planText(plan: Plan): string {
  const { parameters, problems, steps, per_step: step, memory, time, gpu, rental } = plan;
  const { preset: name, backend } = plan.config;
  const presetSays = name === null ? {} : presetValues(name, backend);
  const ofRun = Object.entries(plan.origins).filter(([key]) => key !== 'stages');
  const settings = ofRun.map(([key, origin]) => {
    const path = key.split('.');
    const [value, replaced] = [valueAt(plan.config, path), valueAt(presetSays, path)];
    const wins = replaced !== undefined && origin !== `preset ${name}`;
    const from = wins ? `${origin}, in place of ${JSON.stringify(replaced)} of preset ${name}` : origin;
    return [`  ${key}`, JSON.stringify(value), from, origin] as const;
  });
  const [preset, chosen] = [true, false].map((is) =>
    settings.filter(([, , , origin]) => (origin === 'default') === is),
  );
  const largest = Object.entries(memory.parts).sort(([, a], [, b]) => b - a);
  return [
    table([...chosen!, ...preset!].map((row) => row.slice(0, 3))),
    '',
    ...(plan.stages ? [table(plan.stages.map(stageRow)), ''] : []),
    table([
      ['backend', `${plan.backend} (${plan.device}), ${plan.compute}`],
      ...(plan.model ? [['model', modelText(plan.model)]] : []),
      ['run', `${plan.run.dir}${plan.run.exists ? ', which exists' : ''}`],
      ['parameters', `${shortNumber(parameters.trainable)} of ${shortNumber(parameters.total)} trainable`],
      ['problems', `${problems.train} to train on, ${problems.eval} held out`],
      [
        'a step',
        `${step.prompts} prompts × ${step.completions / step.prompts} completions = ${step.completions}, ${updates(step)}`,
      ],
      ['prompts', `${step.prompt_tokens.mean.toFixed(0)} tokens on average, ${step.prompt_tokens.max} at most`],
      ['tokens a step', `${step.tokens.mean} with average prompts, ${step.tokens.worst} at worst`],
      [
        'memory',
        `about ${gibibytes(memory.estimate)} at the peak, ${gibibytes(memory.available)} available${memory.fits ? '' : ': TOO LITTLE'}`,
      ],
      [
        '',
        largest
          .slice(0, 4)
          .map(([name, bytes]) => `${name} ${gibibytes(bytes)}`)
          .join(', '),
      ],
      [
        'time',
        `about ${duration(time.estimate)}: ${steps} steps of ${time.per_step.toFixed(1)} s, evaluations ${duration(time.evaluations)}`,
      ],
      ...(rental ? [['uploads', rental.uploads.join(', ') || 'nothing but the configuration']] : []),
      ...(gpu && !rental
        ? [
            [
              'on a GPU',
              `backend trl on ${gpu.gpu}: ${gibibytes(gpu.needed)} of ${gibibytes(gpu.memory)}, num_generations up to ${gpu.largest_num_generations}`,
            ],
          ]
        : []),
      ['would be spent', plan.spend.note],
      ['would run', plan.would_run],
    ]),
    '',
    plan.note,
  ].join('\n');
}

function modelText({ name, path, download_bytes }: NonNullable<Plan['model']>): string {
  return path ?? `${name}, of which ${size(download_bytes)} are to be downloaded`;
}

function stageRow({ name, method, steps, keep_optimizer, changes }: NonNullable<Plan['stages']>[number]): string[] {
  const said = Object.entries(changes).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  const kept = keep_optimizer ? ['the optimiser goes on'] : [];
  return [`stage ${name}`, `${steps} steps of ${method}`, [...kept, ...said].join(', ')];
}

function updates({ updates: count }: Plan['per_step']): string {
  return count === 1 ? '1 update' : `${count} updates`;
}

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toPrecision(2)} GiB`;
}
