// report.result/1: a report that was written.
import { report } from '../../report/result-schema.ts';
import { resultSchema } from './envelope.ts';

export const reportSchema = resultSchema(
  'report.result/1',
  'report',
  'A report of runs, written as one file that needs nothing else.',
  report.shape,
);
