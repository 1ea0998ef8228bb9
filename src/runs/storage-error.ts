// What the system says of a write that failed, as an error that says what can be done.
import { resolve } from 'node:path';
import { GradusError, messageOf } from '../errors.ts';

/** What the system's codes mean, and what to do. */
const meanings: Readonly<Record<string, readonly [code: string, fault: string, hint: string]>> = {
  ENOSPC: ['DISK_FULL', 'there is no space left on its disk', 'free some space, then go on with --resume'],
  EDQUOT: ['DISK_FULL', 'the quota of its disk is used up', 'free some space, then go on with --resume'],
  EFBIG: [
    'FILE_TOO_LARGE',
    'a file of it may not grow further',
    'raise the limit (ulimit -f), then go on with --resume',
  ],
  EIO: ['DISK_FAILED', 'its disk fails', 'look at the disk, then go on with --resume'],
  ENOTDIR: ['DIRECTORY_NOT_WRITABLE', 'what should be a folder of its path is a file', 'choose another with --out'],
  ENAMETOOLONG: ['DIRECTORY_NOT_WRITABLE', 'its name is too long', 'choose a shorter one with --name or --out'],
  EROFS: ['DIRECTORY_NOT_WRITABLE', 'its disk is read-only', 'choose another directory with --out'],
  EACCES: ['DIRECTORY_NOT_WRITABLE', 'it may not be written', 'mend its permissions, or choose another with --out'],
  EPERM: ['DIRECTORY_NOT_WRITABLE', 'it may not be written', 'mend its permissions, or choose another with --out'],
};

/** What Node says of folders within folders on a read-only disk, and of links. */
const nowhere = [
  'DIRECTORY_NOT_WRITABLE',
  'its disk is read-only, or a link in its path leads nowhere',
  'choose another with --out',
] as const;

/** The error itself if it is about anything else than writing. */
export function storageError(error: unknown, directory: string): unknown {
  if (!(error instanceof Error) || error instanceof GradusError) return error;
  const { code: said = '', syscall, path } = error as NodeJS.ErrnoException;
  if (said === 'ENOENT' && syscall !== 'mkdir' && path?.startsWith(resolve(directory))) {
    return new GradusError('DIRECTORY_LOST', `${directory} was removed or moved while it was written`, {
      ...{ hint: 'put it back and go on with --resume, or start anew', path: directory, kind: 'failed', cause: error },
    });
  }
  const meaning = said === 'ENOENT' && syscall === 'mkdir' ? nowhere : meanings[said];
  if (!meaning) return error;
  const [code, fault, hint] = meaning;
  return new GradusError(code, `cannot write ${directory}: ${fault} (${messageOf(error)})`, {
    ...{ hint, path: directory, kind: 'failed', cause: error },
  });
}
