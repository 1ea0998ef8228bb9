// dashboard.result/1: where the dashboard is.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const dashboardSchema = resultSchema(
  'dashboard.result/1',
  'dashboard',
  'The dashboard, until it is stopped by a signal; printed as soon as it listens.',
  {
    url: z.url(),
    root: z.string().describe('the directory that contains the runs'),
  },
);
