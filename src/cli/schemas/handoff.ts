// handoff.result/1: a folder with which another system runs the same training.
import { z } from 'zod';
import { handoffResult } from '../../handoff/result-schema.ts';
import { resultSchema } from './envelope.ts';

const { commands, trained, ...fields } = handoffResult.shape;

export const handoffSchema = resultSchema(
  'handoff.result/1',
  'handoff',
  'A folder with data, rewards, settings and a script, with which another system runs the same training.',
  { ...fields, next: z.array(z.string()).describe('useful next commands') },
);
