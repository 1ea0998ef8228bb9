// An environment of several turns, from a prompt and a function that answers the policy.
import type { Environment } from '../environment.ts';
import type { Message } from '../message.ts';
import type { Action, End, Env, EpisodeScore, Example, State } from '../rl.ts';

export interface MultiTurnOptions<E extends Example = Example>
  extends Pick<Environment<E>, 'buildDataset' | 'scoreGroup' | 'gold'> {
  /** The conversation that the policy goes on with. */
  readonly prompt: (example: E) => readonly Message[];
  /** What follows a turn of the policy: a user's text, or a reply in full; `null` or an `End` is the end. */
  readonly respond: (episode: Conversation<E>) => Answer | Promise<Answer>;
  /** What an episode was worth, part by part; the first decides what is correct. @default rewards judge */
  readonly scores?: Readonly<Record<string, (episode: Conversation<E>) => number | null | Promise<number | null>>>;
  /** Numbers about an episode to log. @default none */
  readonly metrics?: (episode: Conversation<E>) => Readonly<Record<string, number>>;
}

/** An episode as far as it went. */
export interface Conversation<E extends Example = Example> {
  readonly example: E;
  /** All of it, with what the policy said last. */
  readonly messages: readonly Message[];
  /** What the policy said, turn by turn. */
  readonly turns: readonly string[];
}

export interface Reply {
  readonly messages: readonly Message[];
  /** Whether the policy learns from the turn that it answers with. @default true */
  readonly trained?: boolean;
}

export type Answer = string | Reply | End | null;

/** Builds episodes that are conversations. */
export function multiTurn<E extends Example = Example>(options: MultiTurnOptions<E>): Environment<E> {
  const { scores = {}, buildDataset, scoreGroup, gold } = options;
  return {
    build: (example) => new MultiTurnEnv(example, options),
    scores: Object.keys(scores),
    ...(buildDataset && { buildDataset }),
    ...(scoreGroup && { scoreGroup }),
    ...(gold && { gold }),
  };
}

class MultiTurnEnv<E extends Example> implements Env {
  readonly #options: MultiTurnOptions<E>;
  #episode: Conversation<E>;

  constructor(example: E, options: MultiTurnOptions<E>) {
    this.#options = options;
    this.#episode = { example, messages: options.prompt(example), turns: [] };
  }

  start(): State {
    return { messages: this.#episode.messages };
  }

  async step({ message }: Action): Promise<State | End | null> {
    this.#add([message], message.content);
    const answer = await this.#options.respond(this.#episode);
    if (answer === null || (typeof answer === 'object' && 'stopReason' in answer)) return answer;
    const { messages, ...reply }: Reply =
      typeof answer === 'string' ? { messages: [{ role: 'user', content: answer }] } : answer;
    this.#add(messages);
    return { messages: this.#episode.messages, ...reply };
  }

  async score(): Promise<EpisodeScore> {
    const scores: Record<string, number | null> = {};
    for (const [name, score] of Object.entries(this.#options.scores ?? {})) scores[name] = await score(this.#episode);
    return scores;
  }

  metrics(): Readonly<Record<string, number>> {
    return this.#options.metrics?.(this.#episode) ?? {};
  }

  #add(messages: readonly Message[], ...said: string[]): void {
    const { example, messages: before, turns } = this.#episode;
    this.#episode = { example, messages: [...before, ...messages], turns: [...turns, ...said] };
  }
}
