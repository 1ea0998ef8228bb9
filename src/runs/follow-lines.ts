// Reads lines as they are appended to a file.
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { parseJsonLines } from '../formats/jsonl.ts';

export class LineFollower<T> {
  readonly #path: string;
  #offset = 0;
  #restarts = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** How often the file has become shorter, because a run was started anew or resumed from an earlier step. */
  get restarts(): number {
    return this.#restarts;
  }

  /** The lines that were completed since the last call. */
  next(): T[] {
    if (!existsSync(this.#path)) return [];
    const file = openSync(this.#path, 'r');
    try {
      const size = fstatSync(file).size;
      if (size < this.#offset) {
        this.#offset = 0;
        this.#restarts++;
      }
      const bytes = Buffer.alloc(size - this.#offset);
      const read = readSync(file, bytes, 0, bytes.length, this.#offset);
      const whole = bytes.subarray(0, bytes.lastIndexOf('\n', read - 1) + 1);
      this.#offset += whole.length;
      return parseJsonLines(whole.toString('utf8')).values as T[];
    } finally {
      closeSync(file);
    }
  }
}
