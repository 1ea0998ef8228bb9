// runs.show.result/1: the results of a run, or its progress.
import { z } from 'zod';
import { runWithDirectory } from '../../finished-runs/comparison-schema.ts';
import { labels } from '../../runs/labels.ts';
import {
  bestCheckpoint,
  diagnosedAlert,
  evaluatedProblem,
  evaluationRecord,
  keptEvaluation,
  numbers,
  pace,
  verdict,
} from '../../runs/records.ts';
import { resultSchema } from './envelope.ts';

export const runsShowSchema = resultSchema(
  'runs.show.result/1',
  'runs show',
  'The state of a run and its results so far.',
  {
    run: runWithDirectory,
    metrics: numbers.describe('the metrics of the last step'),
    time: pace.exactOptional(),
    evals: z.array(evaluationRecord),
    evaluations: z.array(keptEvaluation).describe('whose completions were kept, those of gradus eval among them'),
    verdict,
    alerts: z.array(diagnosedAlert),
    ...labels.shape,
    best_checkpoint: bestCheckpoint.exactOptional(),
    artifacts: z.record(z.string(), z.string()).describe('paths of the files that the run wrote'),
    card: z.string().exactOptional().describe('the card of the run in Markdown, with --card'),
    evaluation: z.string().exactOptional().describe('the name of the evaluation, with --eval'),
    problems: z.array(evaluatedProblem).exactOptional().describe('its problems with all completions, with --eval'),
  },
);
