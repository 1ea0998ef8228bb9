// Turns the system's errors of failed writes into errors that say what to do.
import { resolve } from 'node:path';
import { GradusError, messageOf } from '../errors.ts';

/** The meaning of the system's error codes, and what to do about them. */
const meanings: Readonly<Record<string, readonly [code: string, fault: string, hint: string]>> = {
  ENOSPC: ['DISK_FULL', 'there is no space left on its disk', 'free some space, then continue with --resume'],
  EDQUOT: ['DISK_FULL', 'the disk quota is used up', 'free some space, then continue with --resume'],
  EFBIG: [
    'FILE_TOO_LARGE',
    'a file has reached the size limit',
    'raise the limit (ulimit -f), then continue with --resume',
  ],
  EIO: ['DISK_FAILED', 'its disk reports an error', 'check the disk, then continue with --resume'],
  ENOTDIR: ['DIRECTORY_NOT_WRITABLE', 'a part of its path is a file', 'choose another directory with --out'],
  ENAMETOOLONG: ['DIRECTORY_NOT_WRITABLE', 'its name is too long', 'choose a shorter one with --name or --out'],
  EROFS: ['DIRECTORY_NOT_WRITABLE', 'its disk is read-only', 'choose another directory with --out'],
  EACCES: [
    'DIRECTORY_NOT_WRITABLE',
    'writing to it is not permitted',
    'change its permissions, or choose another directory with --out',
  ],
  EPERM: [
    'DIRECTORY_NOT_WRITABLE',
    'writing to it is not permitted',
    'change its permissions, or choose another directory with --out',
  ],
};

/** Creating a directory fails with ENOENT on a read-only disk and at broken links. */
const nowhere = [
  'DIRECTORY_NOT_WRITABLE',
  'its disk is read-only, or a link in its path is broken',
  'choose another directory with --out',
] as const;

/** Returns the error unchanged if it is not about writing. */
export function storageError(error: unknown, directory: string): unknown {
  if (!(error instanceof Error) || error instanceof GradusError) return error;
  const { code: said = '', syscall, path } = error as NodeJS.ErrnoException;
  if (said === 'ENOENT' && syscall !== 'mkdir' && path?.startsWith(resolve(directory))) {
    return new GradusError('DIRECTORY_LOST', `${directory} was removed or moved during the run`, {
      ...{
        hint: 'put it back and continue with --resume, or start a new run',
        path: directory,
        kind: 'failed',
        cause: error,
      },
    });
  }
  const meaning = said === 'ENOENT' && syscall === 'mkdir' ? nowhere : meanings[said];
  if (!meaning) return error;
  const [code, fault, hint] = meaning;
  return new GradusError(code, `cannot write ${directory}: ${fault} (${messageOf(error)})`, {
    ...{ hint, path: directory, kind: 'failed', cause: error },
  });
}
