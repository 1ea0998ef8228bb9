// The environment: guess a number between two bounds; after each guess it says "Higher." or "Lower.".
import type { Action, Env, EnvBuilder, Message, RewardModel, State, Trajectory } from 'gradus';

/** One problem. */
export interface Problem extends Readonly<Record<string, unknown>> {
  readonly low: number;
  readonly high: number;
  readonly secret: number;
}

/** The most guesses of an episode. */
export const maxTurns = 4;

/** Shows small models what a reply looks like. */
const exampleGame: readonly Message[] = [
  { role: 'system', content: 'Reply with one number and nothing else.' },
  { role: 'user', content: 'Guess a number from 3 to 7.' },
  { role: 'assistant', content: '5' },
  { role: 'user', content: 'Lower.' },
  { role: 'assistant', content: '4' },
];

class GuessingGame implements Env {
  readonly #problem: Problem;
  #messages: readonly Message[] = [];

  constructor(problem: Problem) {
    this.#problem = problem;
  }

  start(): State {
    const { low, high } = this.#problem;
    this.#messages = [...exampleGame, { role: 'user', content: `Guess a number from ${low} to ${high}.` }];
    return { messages: this.#messages };
  }

  /** `null` ends the episode. The conversation grows and is never rewritten: its tokens are what the model learns from. */
  step({ message }: Action): State | null {
    const guess = guessIn(message.content);
    if (guess === this.#problem.secret) return null;
    this.#messages = [...this.#messages, message, { role: 'user', content: this.#reply(guess) }];
    return { messages: this.#messages };
  }

  #reply(guess: number | undefined): string {
    if (guess === undefined) return 'One number, please.';
    return guess < this.#problem.secret ? 'Higher.' : 'Lower.';
  }
}

/** Every episode gets an environment of its own. */
export const guessingGame: EnvBuilder<Problem> = { build: (problem) => new GuessingGame(problem) };

/** 1 for the first guess, less for each further one; a little for guessing at all, so that wrong episodes differ. */
export const reward: RewardModel<Problem> = {
  score: async (_problem, trajectories) =>
    trajectories.map((trajectory) => {
      const found = isFound(trajectory) ? 1 : 0;
      const guesses = trajectory.steps.filter(({ action }) => guessIn(action.message.content) !== undefined).length;
      const score = found === 1 ? 1 - 0.15 * (trajectory.steps.length - 1) : (0.1 * guesses) / maxTurns;
      return { score, parts: { found } };
    }),
};

/** Whether the environment ended the episode, which it does when the number is found. */
export function isFound({ stopReason }: Trajectory): boolean {
  return stopReason === 'completed';
}

/** The one number of a reply; none where there are several, so that listing them is no strategy. */
function guessIn(text: string): number | undefined {
  const numbers = text.match(/\d+/g) ?? [];
  return numbers.length === 1 ? Number(numbers[0]) : undefined;
}
