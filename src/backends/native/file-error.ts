// Errors of the file formats, which stand alone and know no path, as errors of ours.
import { GradusError } from '../../errors.ts';
import { FormatError } from '../../formats/format-error.ts';

/** A format's error with the file it is about; any other error as it is. */
export function fileError(error: unknown, file: string): unknown {
  if (!(error instanceof FormatError)) return error;
  const { code, message, hint = 'the file may be damaged: fetch it again' } = error;
  return new GradusError(code, `${file}: ${message}`, { path: file, hint, cause: error });
}
