// A reward that is ready to score, and what checks need to know of it.
import type { NamedReward } from '../../scoring.ts';

export interface OpenReward extends NamedReward {
  /** What decides the score: the right answer of the row, the form of the completion alone, or something unknown, as with tests and user functions. */
  readonly judges: 'answer' | 'form' | 'unknown';
  /** The column with the right answer. */
  readonly answerColumn: string;
  /** The regular expression that finds the answer in a completion, if there is one. */
  readonly pattern?: string;
}
