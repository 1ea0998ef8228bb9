// The simplest environment: one prompt, one answer.
import type { Message } from '../message.ts';
import type { EnvBuilder, Example } from '../rl.ts';

export interface SingleTurnOptions<E extends Example = Example> {
  /** The messages that the model answers. */
  readonly prompt: (example: E) => readonly Message[];
}

/** An environment whose episodes end after one action. */
export function singleTurn<E extends Example = Example>({ prompt }: SingleTurnOptions<E>): EnvBuilder<E> {
  return {
    build: (example) => ({
      start: () => ({ messages: prompt(example) }),
      step: () => null,
    }),
  };
}
