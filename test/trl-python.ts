// The Python of the TRL worker in tests: that of the oracles, which has the same packages.
import { join } from 'node:path';

export const oraclePython = join(import.meta.dirname, '..', 'python', '.venv', 'bin', 'python');

/** For the rest of this process, and for those that it starts. */
export function useOraclePython(): void {
  process.env.GRADUS_TRL_PYTHON = oraclePython;
  process.env.OMP_NUM_THREADS ??= '1'; // tests run side by side
}
