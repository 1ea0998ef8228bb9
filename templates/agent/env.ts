// Makes the agent trainable: the problems it gets, where its model is, and how its result is scored.
import { agentEnvironment, randomStream } from 'gradus';
import { solve } from './agent.ts';

/** One problem. */
export interface Problem extends Readonly<Record<string, unknown>> {
  readonly question: string;
  readonly answer: string;
}

export const sums = agentEnvironment<Problem>({
  /** Each rollout has its own address for the model. The scores see what this returns. */
  async run({ example, baseURL, apiKey, model, signal }) {
    return { text: await solve(example.question, { baseURL, apiKey, model, signal }) };
  },
  /** Parts of the reward; their weights are in grpo.yaml. The first decides what is correct. */
  scores: {
    correct: ({ example, result }) => Number(result.text === example.answer),
    /** Whether the first reply was a number, so that the agent did not have to ask again. */
    at_once: ({ calls }) => Number(calls.length === 1),
  },
  /** Held-out sums use other numbers than training sums. */
  buildDataset: ({ seed }) => ({ train: problems(400, 2, seed), eval: problems(64, 3, 0) }),
  /** The replies of a perfect model, for checks without a model. */
  gold: ({ answer }) => [String(answer)],
});

/** Sums of two numbers up to 30. The first is even (2), or odd and divisible by 3 (3). */
function problems(count: number, divisor: 2 | 3, seed: number): Problem[] {
  const random = randomStream(seed);
  const firsts = Array.from({ length: 29 }, (_, i) => i + 2).filter(
    (n) => n % divisor === 0 && (divisor === 2 || n % 2 === 1),
  );
  return Array.from({ length: count }, () => {
    const [a, b] = [firsts[random.integer(firsts.length)]!, 2 + random.integer(29)];
    return { question: `What is ${a} + ${b}?`, answer: String(a + b) };
  });
}
