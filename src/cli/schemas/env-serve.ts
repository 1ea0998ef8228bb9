// env.serve.result/1: an environment that answers; printed as soon as it accepts sessions.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const envServeSchema = resultSchema(
  'env.serve.result/1',
  'env serve',
  'An environment that answers over OpenEnv’s protocol, until it is stopped by a signal; printed as soon as it does.',
  {
    url: z.url().describe('what clients of OpenEnv are given'),
    socket_url: z.url().describe('where sessions are opened'),
    problems: z.strictObject({ train: z.int(), eval: z.int() }).describe('how many problems there are'),
    warning: z.string().exactOptional().describe('where others than this machine may play'),
  },
);
