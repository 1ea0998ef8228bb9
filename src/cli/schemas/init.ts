// init.result/1: the project that was made.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const initSchema = resultSchema('init.result/1', 'init', 'The project that was made.', {
  dir: z.string(),
  template: z.string(),
  files: z.array(z.string()).describe('what was written, by paths in the project'),
  next: z.array(z.string()).describe('commands worth running now'),
});
