// Reads a file in parts, so that one of any size needs little memory; a text of more than 512 MB is more than a string can hold.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Bytes of a part. */
const CHUNK_BYTES = 2 ** 18;

/**
 * The bytes of a file from `from` to where it ends when reading begins. A part is valid until the next one is asked for.
 * @param from @default 0
 */
export function* fileChunks(path: string, from = 0): Generator<Uint8Array> {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const memory = new Uint8Array(Math.max(0, Math.min(CHUNK_BYTES, size - from)));
    for (let offset = from; offset < size; ) {
      const read = readSync(file, memory, 0, Math.min(memory.length, size - offset), offset);
      if (read === 0) return;
      yield memory.subarray(0, read);
      offset += read;
    }
  } finally {
    closeSync(file);
  }
}
