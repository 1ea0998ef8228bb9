// The only interface between messages and tokens: nothing else in the loop knows how a chat becomes ids.
import type { ToolSpec } from './message.ts';
import type { Action, State } from './rl.ts';

export interface RenderedPrompt {
  readonly ids: readonly number[];
}

/** Translates between the messages of an environment and the token ids of a model. */
export interface Renderer {
  /** Tokens that end a turn; generation stops at any of them. */
  readonly stopIds: ReadonlySet<number>;
  /** The prompt of a state: the ids that the model continues. */
  render(state: State): RenderedPrompt;
  /**
   * Parses sampled ids. Stop tokens are not part of the message.
   * @param tools the tools that the state offered; without any, what looks like a call is text
   */
  parse(completionIds: readonly number[], tools?: readonly ToolSpec[]): Action;
  /** Reads the text of a turn that may call tools while it is sampled. @default it is read when it is whole */
  follow?(tools: readonly ToolSpec[]): TurnText;
}

export interface TurnText {
  /** What this token adds to the text, as far as it is certain that it is no part of a call. All but the end of the message's content. */
  push(id: number): string;
}
