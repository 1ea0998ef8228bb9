// The one error of the file formats: this folder imports nothing of ours, so that any program could take it along.

/** A file that is not what it claims to be, or that uses something we do not read. */
export class FormatError extends Error {
  override readonly name = 'FormatError';
  /** Stable, upper case: `SAFETENSORS_HEADER_TOO_LARGE`. */
  readonly code: string;
  /** What the user can do about it, in one line. */
  readonly hint: string | undefined;

  constructor(code: string, message: string, hint?: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}
