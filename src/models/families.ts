// Which code a config.json's `model_type` stands for.
import { GradusError } from '../errors.ts';
import type { ModelConfig, ModelFamily, ParameterSpec } from './layers.ts';
import { llama } from './llama.ts';

const families: ReadonlyMap<string, ModelFamily> = new Map(Object.entries({ llama }));

export interface Architecture {
  readonly family: ModelFamily;
  readonly config: ModelConfig;
  readonly parameters: readonly ParameterSpec[];
}

/** The architecture that a config.json describes. */
export function architectureOf(json: Readonly<Record<string, unknown>>): Architecture {
  const family = families.get(String(json.model_type));
  if (!family) {
    throw new GradusError(
      'MODEL_UNSUPPORTED',
      `model_type ${JSON.stringify(json.model_type) ?? 'absent'} is not supported`,
      {
        path: 'model_type',
        hint: `supported: ${[...families.keys()].join(', ')}`,
      },
    );
  }
  const config = family.config(json);
  return { family, config, parameters: family.parameters(config) };
}
