// skills.install.result/1: where the skill was written.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const skillsInstallSchema = resultSchema(
  'skills.install.result/1',
  'skills install',
  'Where the skill was written.',
  { path: z.string() },
);
