// Keeps turns as they were sampled: a conversation that goes on begins with the very ids that the model has read and written,
// for its text, tokenised again, need not give the same ones.
import type { Message, ToolSpec } from '../message.ts';
import type { Renderer } from '../rendering.ts';
import type { Action, State } from '../rl.ts';

export interface TurnRendering {
  /** The ids of a conversation in which no turn was sampled. */
  whole(state: State): number[];
  /** The ids behind the sampled message at `index`: what ends its turn and is not sampled yet, later messages, the next turn's beginning. */
  after(state: State, index: number, completionIds: readonly number[]): number[];
  parse(completionIds: readonly number[], tools?: readonly ToolSpec[]): Action;
}

/** A sampled turn is known by its message: the very object that `parse` made, so environments must hand on the actions that they are given. */
export function keepSampledTurns({ whole, after, parse }: TurnRendering): Pick<Renderer, 'render' | 'parse'> {
  const sampled = new WeakMap<Message, readonly number[]>();
  // The calls of sampled turns need not be ones that a template would write: several at once, for instance.
  const said = (message: Message): Message =>
    sampled.has(message) ? { role: message.role, content: message.content } : message;
  const idsOf = (state: State): number[] => {
    const { messages } = state;
    const index = messages.findLastIndex((message) => sampled.has(message));
    if (index < 0) return whole(state);
    const completionIds = sampled.get(messages[index]!)!;
    const before = idsOf({ ...state, messages: messages.slice(0, index) });
    return [...before, ...completionIds, ...after({ ...state, messages: messages.map(said) }, index, completionIds)];
  };
  return {
    render: (state) => ({ ids: idsOf(state) }),
    parse(completionIds, tools) {
      const action = parse(completionIds, tools);
      sampled.set(action.message, completionIds);
      return action;
    },
  };
}
