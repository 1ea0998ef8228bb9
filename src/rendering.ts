// The seam between messages and tokens: nothing else in the loop knows how a chat becomes ids.
import type { ToolSpec } from './message.ts';
import type { Action, State } from './rl.ts';

export interface RenderedPrompt {
  readonly ids: readonly number[];
}

/** Translates between what an environment says and what a model reads and writes. */
export interface Renderer {
  /** Tokens that end a turn; generation stops at any of them. */
  readonly stopIds: ReadonlySet<number>;
  /** The state as the ids that a model continues. */
  render(state: State): RenderedPrompt;
  /**
   * What the sampled ids mean. Stop tokens are no part of the message.
   * @param tools what the state offered: without tools, what looks like a call is text
   */
  parse(completionIds: readonly number[], tools?: readonly ToolSpec[]): Action;
}
