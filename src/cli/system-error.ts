// Turns the system's errors about files and disks into errors that say what to do.
import { type ErrorKind, GradusError } from '../errors.ts';

interface Meaning {
  readonly code: string;
  readonly fault: string;
  readonly hint: string;
  /** @default 'invalid' */
  readonly kind?: ErrorKind;
}

const forbidden: Meaning = {
  code: 'PATH_NOT_ACCESSIBLE',
  fault: 'you do not have permission to read or write it',
  hint: 'change its permissions, or use another path',
};
const occupied: Meaning = {
  code: 'PATH_NOT_USABLE',
  fault: 'there is a file where a folder is expected',
  hint: 'use another path, or remove the file',
};
const full: Meaning = {
  ...{ code: 'DISK_FULL', fault: 'there is no space left on its disk', hint: 'free some space, then try again' },
  kind: 'failed',
};

const meanings: Readonly<Record<string, Meaning>> = {
  ENOENT: { code: 'PATH_NOT_FOUND', fault: 'there is no such file or folder', hint: 'check the path' },
  EACCES: forbidden,
  EPERM: forbidden,
  EROFS: { code: 'PATH_NOT_ACCESSIBLE', fault: 'its disk is read-only', hint: 'use a path on another disk' },
  EISDIR: { ...occupied, fault: 'there is a folder where a file is expected', hint: 'use the path of a file' },
  ENOTDIR: occupied,
  EEXIST: occupied,
  ELOOP: { ...occupied, fault: 'its symbolic links form a loop', hint: 'use another path, or fix the links' },
  ENAMETOOLONG: { ...occupied, fault: 'its name is too long', hint: 'use a shorter name' },
  ENOSPC: full,
  EDQUOT: full,
  EIO: {
    code: 'DISK_FAILED',
    fault: 'its disk reports an error',
    hint: 'check the disk, then try again',
    kind: 'failed',
  },
  EMFILE: {
    ...{ code: 'TOO_MANY_FILES', fault: 'this process has too many open files', hint: 'raise the limit (ulimit -n)' },
    kind: 'failed',
  },
};

/** Returns the error unchanged if it is not about a file. For errors that code which works on files did not expect. */
export function systemError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof GradusError) return error;
  const { code = '', path, syscall = 'the system', message } = error as NodeJS.ErrnoException;
  const meaning = meanings[code];
  if (!meaning) return error;
  const { fault, hint, kind = 'invalid' } = meaning;
  return new GradusError(meaning.code, `${path ?? syscall}: ${fault} (${message})`, {
    ...{ hint, kind, cause: error },
    ...(path !== undefined && { path }),
  });
}
