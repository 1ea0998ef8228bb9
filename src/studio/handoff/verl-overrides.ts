// The configuration that verl is given, made of the table of keys, and the one error for all that the table refuses.
import { isDeepStrictEqual } from 'node:util';
import { type Config, configDefaults } from '../../config/schema.ts';
import { valueAt } from '../../config/values.ts';
import { GradusError } from '../../errors.ts';
import type { Given, Override } from './handoff-row.ts';
import { verlMapping } from './verl-mapping.ts';

const actor = 'actor_rollout_ref.actor';
const rollout = 'actor_rollout_ref.rollout';

/** What verl is told in addition: how it is run here, whatever the configuration says. */
function fixedOverrides({ config, promptTokens }: Given): Record<string, Override> {
  const longest = promptTokens + config.max_completion_length;
  return {
    [`${rollout}.name`]: 'vllm',
    [`${rollout}.tensor_model_parallel_size`]: 1,
    // Sizes of micro-batches by tokens: they change no result, and need no setting for each machine.
    [`${actor}.use_dynamic_bsz`]: true,
    [`${actor}.ppo_max_token_len_per_gpu`]: Math.max(16_384, 2 * longest),
    'trainer.project_name': 'gradus',
  };
}

/** verl's keys, in the order of the table. Throws `HANDOFF_UNSUPPORTED` for everything that it has no counterpart of. */
export function verlOverrides(given: Given): Record<string, Override> {
  assertHandsOver(given.config);
  const written = Object.values(verlMapping).flatMap(({ writes = {} }) =>
    Object.entries(writes).map(([name, value]) => [name, value(given)] as const),
  );
  return { ...Object.fromEntries(written), ...fixedOverrides(given) };
}

/** Throws `HANDOFF_UNSUPPORTED`, which names every key that cannot be handed over, and why. */
export function assertHandsOver(config: Config): void {
  const refused = Object.entries(verlMapping).flatMap(([key, { refusal }]) => {
    const path = key.split('.');
    const value = valueAt(config, path);
    // Settings of a section that is null are not there.
    const isDefault = value === undefined || isDeepStrictEqual(value, valueAt(configDefaults, path));
    const why = refusal?.(config, isDefault);
    return why === undefined ? [] : [{ key, why }];
  });
  const [first] = refused;
  if (!first) return;
  const reasons = Map.groupBy(refused, ({ why }) => why);
  const told = [...reasons].map(([why, rows]) => `${rows.map(({ key }) => key).join(', ')}: ${why}`);
  throw new GradusError('HANDOFF_UNSUPPORTED', `verl cannot train this configuration: ${told.join('; ')}`, {
    hint: 'change them, also with --set, or train with backend trl',
    path: first.key,
  });
}
