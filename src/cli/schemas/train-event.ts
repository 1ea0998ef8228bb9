// train.event/2: a line of `train --events`; the last line holds the result. Lines of events.jsonl are the same, without the result.
import { z } from 'zod';
import { download, recordedEvents } from '../../training/event-schemas.ts';
import { errorSchema } from './error.ts';
import { trainSchema } from './train.ts';

const result = z.strictObject({ type: z.literal('result'), result: z.union([trainSchema, errorSchema]) });

export const trainEventSchema = z
  .union([download, ...recordedEvents, result])
  .describe(
    'A line of `train --events`; the last holds the result. events.jsonl has the same lines but the last, and none of a download.',
  );
