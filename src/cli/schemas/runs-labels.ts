// runs.tag.result/1, runs.note.result/1: what is written down about a run.
import { z } from 'zod';
import { labels } from '../../runs/labels.ts';
import { resultSchema } from './envelope.ts';

const shape = { dir: z.string(), ...labels.shape };

export const runsTagSchema = resultSchema('runs.tag.result/1', 'runs tag', 'The tags of a run, and its note.', shape);
export const runsNoteSchema = resultSchema(
  'runs.note.result/1',
  'runs note',
  'The note of a run, and its tags.',
  shape,
);
