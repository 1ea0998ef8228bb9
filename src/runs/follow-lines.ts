// Reads lines as they are appended to a file.
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { parseJsonLines } from '../formats/jsonl.ts';
import { type Fields, objectsOf } from './files.ts';

export class LineFollower<T extends object> {
  readonly #path: string;
  readonly #fields: Fields;
  #offset = 0;
  #inode: number | undefined;
  #restarts = 0;

  /** @param fields that every line must have */
  constructor(path: string, fields: Fields = {}) {
    this.#path = path;
    this.#fields = fields;
  }

  /** How often the file has been replaced or become shorter, because a run was started anew or resumed from an earlier step. */
  get restarts(): number {
    return this.#restarts;
  }

  /** The lines that were completed since the last call. Throws if one of them is damaged. */
  next(): T[] {
    if (!existsSync(this.#path)) return [];
    const file = openSync(this.#path, 'r');
    try {
      const { size, ino } = fstatSync(file);
      if (size < this.#offset || (this.#inode !== undefined && ino !== this.#inode)) {
        this.#offset = 0;
        this.#restarts++;
      }
      this.#inode = ino;
      const bytes = Buffer.alloc(size - this.#offset);
      const read = readSync(file, bytes, 0, bytes.length, this.#offset);
      const whole = bytes.subarray(0, bytes.lastIndexOf('\n', read - 1) + 1);
      this.#offset += whole.length;
      return objectsOf(parseJsonLines(whole.toString('utf8')).values, this.#fields) as T[];
    } finally {
      closeSync(file);
    }
  }
}
