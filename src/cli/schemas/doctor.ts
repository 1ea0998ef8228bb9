// doctor.result/1: the checks, and whether all that are required are ok.
import { doctorFields } from '../../machine/result-schema.ts';
import { outcomeSchema } from './envelope.ts';

export const doctorSchema = outcomeSchema(
  'doctor.result/1',
  'doctor',
  'Whether this machine is ready for a backend or a configuration.',
  doctorFields,
);
