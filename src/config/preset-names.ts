// The names of the presets; presets.ts has their values.

export const presetNames = [
  'grpo',
  'r1',
  'dapo',
  'dr_grpo',
  'gspo',
  'cispo',
  'sapo',
  'vespo',
  'luspo',
  'lite_ppo',
  'rloo',
  'max_rl',
  'gdpo',
  'high_entropy',
  'adaptive_entropy',
  'memory',
  'throughput',
] as const;

export type PresetName = (typeof presetNames)[number];
