// The thread in which a Parquet file is read, with what parquet-rows.ts hands it. It posts rows in parts, then what is known of their values.
import { parentPort, workerData } from 'node:worker_threads';
import { FormatError } from '../formats/format-error.ts';
import { readParquet } from '../formats/parquet.ts';
import { boundedCodecs as codecs } from './parquet-codecs.ts';
import type { ParquetPart, ParquetTask } from './parquet-rows.ts';

/** Rows that are posted at once. */
const PART = 2000;

const { bytes, without, memory } = workerData as ParquetTask;

try {
  // Where a value is told by the objects that hold it, which lose their identity on the way.
  const notes = new Map<object, ParquetPart['notes'][number]['values'][number][]>();
  const note = (
    holder: object,
    name: string | number,
    _: unknown,
    exact: ParquetPart['notes'][number]['values'][number]['exact'],
  ) => {
    const known = notes.get(holder) ?? [];
    known.push({ name, exact });
    notes.set(holder, known);
  };
  const rows = await readParquet(bytes, { without, memory, codecs, note });
  for (let from = 0; from < rows.length; from += PART) {
    const part = rows.slice(from, from + PART);
    post({ rows: part, notes: part.flatMap((row) => notesIn(row)) });
  }
  parentPort!.postMessage({ done: true });

  function notesIn(value: unknown): ParquetPart['notes'][number][] {
    if (notes.size === 0 || typeof value !== 'object' || value === null) return [];
    const values = notes.get(value);
    // Holders keep their identity within one message.
    return [...(values ? [{ holder: value, values }] : []), ...Object.values(value).flatMap(notesIn)];
  }

  function post(part: ParquetPart): void {
    parentPort!.postMessage(part);
  }
} catch (error) {
  const { code = 'PARQUET_INVALID', hint } = error instanceof FormatError ? error : {};
  parentPort!.postMessage({ fault: { code, message: (error as Error).message, hint } });
}
