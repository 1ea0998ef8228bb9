// The settings of a configuration that the rules of run health need.
import type { Config } from '../../config/schema.ts';
import type { HealthSettings } from '../../runs/history.ts';
import { samplerTolerance } from './sampler-gate.ts';

export function healthSettings(config: Config): HealthSettings {
  const { environment, max_completion_length, max_episode_tokens } = config;
  const maxTokens = environment === null ? max_completion_length : max_episode_tokens;
  const tolerance = samplerTolerance(config);
  return {
    ...(maxTokens !== null && { maxTokens }),
    ...(tolerance !== undefined && { samplerTolerance: tolerance }),
  };
}
