// Counts a model's parameters, and those that a configuration trains.
import type { Config } from '../../config/schema.ts';
import type { Architecture } from '../../models/families.ts';
import { trainedEntries, trainedParameters } from '../../models/trained-parameters.ts';
import { loraSettings } from './lora-settings.ts';
import { parameterCount } from './memory-estimate.ts';

export interface ParameterCounts {
  /** Including adapters. */
  readonly total: number;
  readonly trainable: number;
  /** Whether the model is trained as a whole, without adapters. */
  readonly full: boolean;
}

export function parameterCounts({ parameters }: Architecture, config: Config): ParameterCounts {
  const trained = trainedParameters(parameters, loraSettings(config), config.trainable);
  const trainable = parameterCount(trainedEntries(trained));
  return {
    ...{ trainable, full: trained.whole },
    total: parameterCount(parameters) + trainable - parameterCount(trained.own),
  };
}
