// Reads the text of a server's answer, up to a limit.
import { redacted } from './redaction.ts';

/** The most bytes of an answer that are read. */
const MOST_BYTES = 2 ** 20;

/** An answer has more than 1 MiB. Its beginning is `text`. */
export class LongAnswerError extends Error {
  readonly text: string;

  constructor(text: string) {
    super(`its answer has more than ${MOST_BYTES / 2 ** 20} MiB`);
    this.text = text;
  }
}

/** The body of a response as text. Throws `LongAnswerError` once more than 1 MiB has come, and reads nothing more then. */
export async function textOf({ body }: Response): Promise<string> {
  if (!body) return '';
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  // Leaving the loop early cancels the body, which frees the connection.
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new LongAnswerError(text);
  }
  return text + decoder.decode();
}

/** The text, or its beginning: what a server says about a failure, without known secrets, which it may repeat. Empty if nothing can be read. */
export async function beginningOf(response: Response): Promise<string> {
  const text = await textOf(response).catch((error: unknown) => (error instanceof LongAnswerError ? error.text : ''));
  return redacted(text);
}
