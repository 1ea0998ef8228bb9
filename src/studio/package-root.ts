// Where the package is: files that ship with it beside its code are in folders at its root.
import { join } from 'node:path';

/** The root of the package, which is two folders up both from the sources and from the build. */
export const packageRoot = join(import.meta.dirname, '..', '..');
