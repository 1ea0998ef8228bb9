// Where the Python that ships with the package is.
import { join } from 'node:path';

/** The workers' packages, and the projects with their locks; two folders up both in the sources and in the build. */
export const pythonFolder = join(import.meta.dirname, '..', '..', 'python');
