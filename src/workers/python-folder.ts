// Where the package's Python code is, and the name of the Python command on this system.
import { join } from 'node:path';

/** The workers' packages, and the projects with their locks; two folders up both in the sources and in the build. */
export const pythonFolder = join(import.meta.dirname, '..', '..', 'python');

/** The command of Python. Installations for Windows have no other; elsewhere this might be Python 2. */
export const PYTHON = process.platform === 'win32' ? 'python' : 'python3';
