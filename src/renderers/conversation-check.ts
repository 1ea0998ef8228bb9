// Whether conversations can go on with a renderer, tried out before anything is trained.
import type { Message } from '../message.ts';
import type { Renderer } from '../rendering.ts';
import { assertGoesOn, type State } from '../rl.ts';

/** Throws what rendering a second turn throws, and `RENDERING_CHANGED_PREFIX` unless it begins with the first, as it was sampled. */
export function assertGoesOnAfterTurns(renderer: Renderer, state: State): void {
  const question: Message = { role: 'user', content: '?' };
  const { ids: promptIds } = renderer.render(state);
  const completionIds = renderer.render({ messages: [question] }).ids;
  const { message } = renderer.parse(completionIds, state.tools);
  const { ids } = renderer.render({ ...state, messages: [...state.messages, message, question] });
  assertGoesOn({ promptIds, completionIds, logprobs: [] }, ids);
}
