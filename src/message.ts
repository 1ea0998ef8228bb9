// Messages: what a chat holds. Environments speak in messages and know nothing of tokens.

export type Role = 'system' | 'user' | 'assistant' | 'tool';

export interface ToolCall {
  /** Tells the calls of one message apart; a tool's answer carries it back. */
  readonly id: string;
  readonly name: string;
  /** The arguments as parsed JSON. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface Message {
  readonly role: Role;
  readonly content: string;
  /** What an assistant asked tools to do. */
  readonly toolCalls?: readonly ToolCall[];
  /** In a tool's answer: the call that it answers. */
  readonly toolCallId?: string;
}

/** What a model is told about a tool, as in OpenAI's function calling. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}
