// Digits that add up to a target: one turn, and a score for how close the answer is.
//
//   node examples/digit-sum.ts --eval-on-start
//   gradus env check examples/digit-sum.ts:digitSum
import { randomStream, singleTurn, streamSeed } from '../src/index.ts';
import { trainExample } from './shared/train-example.ts';

const digits = 4;
/** The distance from the target at which a sum still earns 1/e. */
const scale = 4;

/** All sums of four digits except 0; a fifth of them is held out. */
const problems = Array.from({ length: 9 * digits }, (_, i) => ({ target: i + 1 }));
const isHeldOut = ({ target }: { target: number }) => randomStream(streamSeed(0, target)).uniform() < 0.2;

export const digitSum = singleTurn<{ target: number }>({
  prompt: ({ target }) => [{ role: 'user', content: `Write ${digits} digits, with spaces between, of sum ${target}.` }],
  scores: {
    /** exp(−|sum − target| / scale): 1 only if the sum is the target; 0 for anything but four digits. */
    digit_sum({ example, turns }) {
      const written = turns[0]!.trim().split(/\s+/);
      if (written.length !== digits || !written.every((word) => /^\d$/.test(word))) return 0;
      const sum = written.reduce((total, digit) => total + Number(digit), 0);
      return Math.exp(-Math.abs(sum - example.target) / scale);
    },
  },
  buildDataset: () => ({
    train: problems.filter((problem) => !isHeldOut(problem)),
    eval: problems.filter(isHeldOut),
  }),
  gold: ({ target }) => [Array.from({ length: digits }, (_, i) => Math.floor((target + i) / digits)).join(' ')],
});

if (import.meta.main) {
  await trainExample({ environment: digitSum, defaults: { 'max-tokens': 16, 'run-dir': 'runs/digit-sum' } });
}
