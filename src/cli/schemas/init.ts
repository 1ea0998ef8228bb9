// init.result/1: the project that was created.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const initSchema = resultSchema('init.result/1', 'init', 'The project that was created.', {
  dir: z.string(),
  template: z.string(),
  files: z.array(z.string()).describe('the files that were written, as paths in the project'),
  next: z.array(z.string()).describe('useful next commands'),
});
