// The environment: guess a number between two bounds; after each guess it says "Higher." or "Lower.".
import { configurable, type Message, multiTurn, randomStream, streamSeed, z } from 'gradus';

/** One problem. */
export interface Problem extends Readonly<Record<string, unknown>> {
  readonly low: number;
  readonly high: number;
  readonly secret: number;
}

/** The settings that grpo.yaml may have under environment_config. */
const settings = z.strictObject({
  width: z.int().min(2).max(20).default(9).describe('the largest difference between the bounds'),
  problems: z.int().min(1).default(400).describe('to train on'),
});

/** Shows small models what a reply looks like. */
const exampleGame: readonly Message[] = [
  { role: 'system', content: 'Reply with one number and nothing else.' },
  { role: 'user', content: 'Guess a number from 3 to 7.' },
  { role: 'assistant', content: '5' },
  { role: 'user', content: 'Lower.' },
  { role: 'assistant', content: '4' },
];

export const guessingGame = configurable('guessing numbers', settings, ({ width, problems }) =>
  multiTurn<Problem>({
    prompt: ({ low, high }) => [...exampleGame, { role: 'user', content: `Guess a number from ${low} to ${high}.` }],
    /** The reply to a turn of the model; `null` ends the episode, as max_turns does. */
    respond({ example, turns }) {
      const guess = guessIn(turns.at(-1)!);
      if (guess === example.secret) return null;
      if (guess === undefined) return 'One number, please.';
      return guess < example.secret ? 'Higher.' : 'Lower.';
    },
    /** Parts of the reward; their weights are in grpo.yaml. The first decides what is correct. */
    scores: {
      found: ({ example, turns }) => Number(guessIn(turns.at(-1)!) === example.secret),
      /** 1 if the first guess is right, less for each further guess. */
      speed: ({ example, turns }) => (guessIn(turns.at(-1)!) === example.secret ? 1 / turns.length : 0),
      /** The fraction of replies that were guesses at all, so that lost games differ, too. */
      played: ({ turns }) => turns.filter((turn) => guessIn(turn) !== undefined).length / turns.length,
    },
    /** Training uses numbers up to 9 and from 20 on; those in between are held out. */
    buildDataset: ({ seed }) => ({
      train: makeProblems(problems, width, streamSeed(seed, 'train'), (secret) => secret < 10 || secret >= 20),
      eval: makeProblems(128, width, streamSeed(seed, 'eval'), (secret) => secret >= 10 && secret < 20),
    }),
    /** The turns of a perfect player: `gradus env check` plays them. */
    gold: ({ secret }) => [String(secret)],
  }),
);

/** The only number in a reply; none if there are several, so that listing numbers does not pay. */
function guessIn(text: string): number | undefined {
  const numbers = text.match(/\d+/g) ?? [];
  return numbers.length === 1 ? Number(numbers[0]) : undefined;
}

function makeProblems(count: number, width: number, seed: number, isWanted: (secret: number) => boolean): Problem[] {
  const random = randomStream(seed);
  const problems: Problem[] = [];
  while (problems.length < count) {
    const low = 1 + random.integer(20);
    const high = low + 1 + random.integer(width);
    const secret = low + random.integer(high - low + 1);
    if (isWanted(secret)) problems.push({ low, high, secret });
  }
  return problems;
}
