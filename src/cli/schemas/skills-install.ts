// skills.install.result/1: where the skill was written.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const skillsInstallSchema = resultSchema(
  'skills.install.result/1',
  'skills install',
  'The path of the installed skill.',
  { path: z.string() },
);
