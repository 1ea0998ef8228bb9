// serve.result/1: a running server; printed as soon as it accepts requests.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';
import { openedRun } from './records.ts';

export const serveSchema = resultSchema(
  'serve.result/1',
  'serve',
  'A server that answers, until it is stopped by a signal; printed as soon as it does.',
  {
    url: z.url(),
    base_url: z.url().describe('what clients of OpenAI’s interface are given, or those of Tinker’s API with --train'),
    model: z.string().describe('what requests call the model'),
    warning: z.string().exactOptional().describe('where others than this machine may use the model without a key'),
    weights: z.string().exactOptional().describe('with --train: the folder of weights that clients save'),
    run: openedRun.exactOptional().describe('absent if a configuration is served, whose model has learnt nothing'),
  },
);
