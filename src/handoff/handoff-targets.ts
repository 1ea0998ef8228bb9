// The systems that a configuration can be handed over to.
import type { HandoffTarget } from './folder/handoff-target.ts';
import { unsloth } from './unsloth/target.ts';
import { verl } from './verl/target.ts';

export type HandoffSystem = 'verl' | 'unsloth';

export const handoffTargets: Readonly<Record<HandoffSystem, HandoffTarget>> = { verl, unsloth };
