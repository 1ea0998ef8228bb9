// What the rules of run health need to know of a configuration.
import type { Config } from '../config/schema.ts';
import type { HealthSettings } from '../runs/history.ts';

export function healthSettings({ environment, max_completion_length, max_episode_tokens }: Config): HealthSettings {
  const maxTokens = environment === null ? max_completion_length : max_episode_tokens;
  return maxTokens === null ? {} : { maxTokens };
}
