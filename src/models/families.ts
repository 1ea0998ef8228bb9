// Which code a config.json's `model_type` stands for.
import { GradusError } from '../errors.ts';
import type { ModelConfig, ModelFamily, ParameterSpec } from './layers.ts';
import { llama } from './llama.ts';

const families: Readonly<Record<string, ModelFamily>> = { llama };

export interface Architecture {
  readonly family: ModelFamily;
  readonly config: ModelConfig;
  readonly parameters: readonly ParameterSpec[];
}

/** The architecture that a config.json describes. */
export function architectureOf(json: Readonly<Record<string, unknown>>): Architecture {
  const type = String(json.model_type);
  const family = families[type];
  if (!family) {
    throw new GradusError(
      'MODEL_UNSUPPORTED',
      `model_type ${JSON.stringify(json.model_type) ?? 'absent'} is not supported`,
      {
        path: 'model_type',
        hint: `supported: ${Object.keys(families).join(', ')}`,
      },
    );
  }
  const config = family.config(json);
  return { family, config, parameters: family.parameters(config) };
}
