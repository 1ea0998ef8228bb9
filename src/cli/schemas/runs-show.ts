// runs.show.result/1: how a run fared, or fares.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';
import { diagnosedAlert, evaluationRecord, numbers, runWithDirectory, verdict } from './records.ts';

export const runsShowSchema = resultSchema('runs.show.result/1', 'runs show', 'How a run fared, or fares.', {
  run: runWithDirectory,
  metrics: numbers.describe('of the last step'),
  evals: z.array(evaluationRecord),
  verdict,
  alerts: z.array(diagnosedAlert),
  artifacts: z.record(z.string(), z.string()).describe('paths of what the run left behind'),
  card: z.string().exactOptional().describe('its card in Markdown, with --card'),
});
