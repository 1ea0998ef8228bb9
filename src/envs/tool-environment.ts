// An environment in which the model may call tools until it answers without a call.
import type { Environment } from '../environment.ts';
import type { Message, ToolCall, ToolSpec } from '../message.ts';
import type { Action, End, Env, EpisodeScore, Example, State } from '../rl.ts';
import { type AnswerLimits, answerCall, complaint, type ToolAnswer, type ToolFailure } from '../tools/answer-call.ts';
import type { Tool } from '../tools/tool.ts';

export interface ToolEnvironmentOptions<E extends Example = Example>
  extends Pick<Environment<E>, 'buildDataset' | 'scoreGroup' | 'gold'> {
  /** The conversation that the model goes on with. */
  readonly prompt: (example: E) => readonly Message[];
  /** What it may call: the same for all problems, or made for each. */
  readonly tools: readonly (Tool | ToolSpec)[] | ((example: E) => readonly (Tool | ToolSpec)[]);
  /** Answers calls of tools that are only described. @default such a call fails */
  readonly respond?: (call: ToolCall, example: E) => unknown;
  /** The most calls of an episode; a turn that asks for more ends it as `max_tool_calls`. @default no limit but that on turns */
  readonly maxToolCalls?: number;
  /** How many calls that cannot be read the model is told of; one more ends the episode as `parse_error`. @default no limit but that on turns */
  readonly maxParseErrors?: number;
  readonly limits?: AnswerLimits;
  /** What an episode was worth, part by part; the first decides what is correct. @default rewards judge */
  readonly scores?: Readonly<Record<string, (episode: ToolEpisode<E>) => number | null | Promise<number | null>>>;
}

/** An episode as far as it went. */
export interface ToolEpisode<E extends Example = Example> {
  readonly example: E;
  /** The whole conversation, with what the model said last. */
  readonly messages: readonly Message[];
  readonly calls: readonly AnsweredCall[];
  /** What was wrong with calls that could not be read. */
  readonly parseErrors: readonly string[];
}

export interface AnsweredCall extends ToolCall {
  readonly answer: ToolAnswer;
}

/**
 * Builds episodes in which each turn's calls are answered, one after another, before the model's next turn. Failed and unreadable calls are
 * answered with what is wrong. Logged of each episode: `tools/calls`, `tools/failures`, `tools/parse_errors`, `tools/truncated` and
 * `tools/<failure>` for each kind of failure, all of them counts.
 */
export function toolEnvironment<E extends Example = Example>(options: ToolEnvironmentOptions<E>): Environment<E> {
  const { scores = {}, buildDataset, scoreGroup, gold } = options;
  return {
    build: (example) => new ToolEnv(example, options),
    scores: Object.keys(scores),
    ...(buildDataset && { buildDataset }),
    ...(scoreGroup && { scoreGroup }),
    ...(gold && { gold }),
  };
}

const failures: readonly ToolFailure[] = ['unknown_tool', 'wrong_arguments', 'error', 'timeout'];

class ToolEnv<E extends Example> implements Env {
  readonly #example: E;
  readonly #tools: readonly (Tool | ToolSpec)[];
  readonly #options: ToolEnvironmentOptions<E>;
  readonly #calls: AnsweredCall[] = [];
  readonly #parseErrors: string[] = [];
  #messages: readonly Message[];

  constructor(example: E, options: ToolEnvironmentOptions<E>) {
    const { prompt, tools } = options;
    this.#example = example;
    this.#options = options;
    this.#tools = typeof tools === 'function' ? tools(example) : tools;
    this.#messages = prompt(example);
  }

  start(): State {
    // Templates write a tool as JSON: no more of it than a model should read.
    const specs = this.#tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
    return { messages: this.#messages, tools: specs };
  }

  async step({ message, parseErrors = [] }: Action): Promise<State | End> {
    const { maxToolCalls = Infinity, maxParseErrors = Infinity, limits } = this.#options;
    const { toolCalls = [] } = message;
    this.#messages = [...this.#messages, message];
    this.#parseErrors.push(...parseErrors);
    if (toolCalls.length + parseErrors.length === 0) return { stopReason: 'completed' };
    if (this.#parseErrors.length > maxParseErrors) return { stopReason: 'parse_error' };
    if (this.#calls.length + toolCalls.length > maxToolCalls) return { stopReason: 'max_tool_calls' };
    const answers: Message[] = [];
    for (const call of toolCalls) answers.push(await this.#answer(call));
    for (const fault of parseErrors) answers.push({ role: 'tool', content: complaint(fault, limits).content });
    this.#messages = [...this.#messages, ...answers];
    return { ...this.start(), messages: this.#messages };
  }

  async score(): Promise<EpisodeScore> {
    const episode = this.#episode();
    const scores: Record<string, number | null> = {};
    for (const [name, score] of Object.entries(this.#options.scores ?? {})) scores[name] = await score(episode);
    return scores;
  }

  metrics(): Record<string, number> {
    const count = (holds: (answer: ToolAnswer) => boolean) => this.#calls.filter(({ answer }) => holds(answer)).length;
    return {
      'tools/calls': this.#calls.length,
      'tools/failures': count(({ failure }) => failure !== undefined),
      'tools/parse_errors': this.#parseErrors.length,
      'tools/truncated': count(({ truncated }) => truncated),
      ...Object.fromEntries(failures.map((kind) => [`tools/${kind}`, count(({ failure }) => failure === kind)])),
    };
  }

  #episode(): ToolEpisode<E> {
    return {
      example: this.#example,
      messages: this.#messages,
      calls: this.#calls,
      parseErrors: this.#parseErrors,
    };
  }

  async #answer(call: ToolCall): Promise<Message> {
    const { respond = unanswered, limits } = this.#options;
    const answer = await answerCall(call, this.#tools, (asked) => respond(asked, this.#example), limits);
    this.#calls.push({ ...call, answer });
    return { role: 'tool', content: answer.content, toolCallId: call.id };
  }
}

function unanswered({ name }: ToolCall): never {
  throw new Error(`nobody answers calls of ${name}`);
}
