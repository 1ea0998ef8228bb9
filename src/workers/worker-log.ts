// Writes a worker's stderr to a file, whose path may be given later, and keeps its last line for errors.
import { appendFileSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export class WorkerLog {
  #path: string;
  #tail = '';

  /** @param name of the worker. Until `moveTo` the file is a temporary one. */
  constructor(name: string) {
    this.#path = join(tmpdir(), `gradus-${name}-${process.pid}-${performance.now().toString(36)}.log`);
  }

  get path(): string {
    return this.#path;
  }

  write(text: string): void {
    try {
      appendFileSync(this.#path, text);
    } catch {
      // A full disk is for whoever writes what matters to tell.
    }
    this.#tail = (this.#tail + text).slice(-4096);
  }

  /** Goes on in another file, with all that was written so far. */
  moveTo(path: string): void {
    mkdirSync(dirname(path), { recursive: true });
    if (existsSync(this.#path)) {
      copyFileSync(this.#path, path);
      rmSync(this.#path);
    }
    this.#path = path;
  }

  /** Whoever needs it no longer, because all went well; a file that was moved stays. */
  discard(): void {
    if (dirname(this.#path) === tmpdir()) rmSync(this.#path, { force: true });
  }

  /** The last line that says anything. */
  get lastLine(): string | undefined {
    return this.#tail
      .split('\n')
      .map((line) => line.trim())
      .findLast(Boolean);
  }
}
