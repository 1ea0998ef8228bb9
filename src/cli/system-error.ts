// What the system says of a file or a disk, as an error that says what can be done.
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
  fault: 'this user may not read or write it',
  hint: 'mend its permissions, or give another path',
};
const occupied: Meaning = {
  code: 'PATH_NOT_USABLE',
  fault: 'a file stands where a folder should be',
  hint: 'give another path, or remove the file',
};
const full: Meaning = {
  ...{ code: 'DISK_FULL', fault: 'there is no space left on its disk', hint: 'free some space, then try again' },
  kind: 'failed',
};

const meanings: Readonly<Record<string, Meaning>> = {
  ENOENT: { code: 'PATH_NOT_FOUND', fault: 'there is no such file or folder', hint: 'check the path' },
  EACCES: forbidden,
  EPERM: forbidden,
  EROFS: { code: 'PATH_NOT_ACCESSIBLE', fault: 'its disk is read-only', hint: 'give a path on another disk' },
  EISDIR: { ...occupied, fault: 'a folder stands where a file should be', hint: 'give the path of a file' },
  ENOTDIR: occupied,
  EEXIST: occupied,
  ELOOP: { ...occupied, fault: 'its links lead in circles', hint: 'give another path, or mend the links' },
  ENAMETOOLONG: { ...occupied, fault: 'its name is too long', hint: 'give a shorter one' },
  ENOSPC: full,
  EDQUOT: full,
  EIO: { code: 'DISK_FAILED', fault: 'its disk fails', hint: 'look at the disk, then try again', kind: 'failed' },
  EMFILE: {
    ...{ code: 'TOO_MANY_FILES', fault: 'this process may open no more files', hint: 'raise the limit (ulimit -n)' },
    kind: 'failed',
  },
};

/** The error itself if it is not about a file. Those that work on files say more where they can; this is for what they did not foresee. */
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
