// Turns the system's errors about files and disks into errors that say what to do.
import { GradusError } from '../errors.ts';
import { faultError, type SystemFault, systemFaults } from '../runs/system-faults.ts';

const faults: Readonly<Record<string, SystemFault>> = systemFaults;

/** For errors that code working on files did not expect. Returns the error unchanged if it is not about a file. */
export function systemError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof GradusError) return error;
  const { code: said = '', path, syscall = 'the system' } = error as NodeJS.ErrnoException;
  const meaning = faults[said];
  return meaning ? faultError(meaning, path ?? syscall, error, path === undefined ? {} : { path }) : error;
}
