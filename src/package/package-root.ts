// The root of the package. Files that ship beside its code are in folders there.
import { join } from 'node:path';

/** The root of the package, which is two folders up both from the sources and from the build. */
export const packageRoot = join(import.meta.dirname, '..', '..');
