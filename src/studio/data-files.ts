// Reads the rows of a data set from files: JSON lines, JSON arrays, CSV, and folders of them with one file a split.
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { GradusError, messageOf } from '../errors.ts';
import { existingNames } from '../nearest.ts';
import { shuffled, streamSeed } from '../random.ts';
import type { Example } from '../rl.ts';
import { parseCsv } from './csv-rows.ts';

export interface LoadRowsOptions {
  /** Of a folder, the file to read: `<split>.jsonl`, `<split>.json` or `<split>.csv`. A single file is its own `train` split. @default 'train' */
  readonly split?: string;
  /** The subfolder to look in, where there is one of this name. */
  readonly config?: string;
}

const readers: Readonly<Record<string, (text: string, path: string) => unknown[]>> = {
  '.jsonl': parseLines,
  '.json': parseArray,
  '.csv': parseCsv,
};

const formats = Object.keys(readers).join(', ');

/**
 * All rows of a data set. Throws `DATASET_NOT_FOUND`, `DATASET_SPLIT_NOT_FOUND`, `DATASET_FORMAT_UNKNOWN`, `DATASET_MALFORMED` (with the
 * line's number) or `DATASET_EMPTY`.
 */
export async function loadRows(path: string, options: LoadRowsOptions = {}): Promise<Example[]> {
  const file = await findFile(path, options);
  const reader = readers[extname(file)];
  if (!reader) {
    throw new GradusError('DATASET_FORMAT_UNKNOWN', `cannot read ${file}: only ${formats}`, {
      hint: 'convert it to JSON lines: one object a line',
      path: file,
    });
  }
  const text = await readFile(file, 'utf8').catch((error) => {
    throw new GradusError('DATASET_NOT_FOUND', `cannot read ${file}: ${messageOf(error)}`, {
      hint: 'check the permissions of the file',
      path: file,
      cause: error,
    });
  });
  const rows = reader(text.replace(/^\uFEFF/, ''), file);
  if (rows.length > 0) return rows as Example[];
  throw new GradusError('DATASET_EMPTY', `${file} has no rows`, { hint: 'give at least one row', path: file });
}

/** Throws `COLUMN_MISSING` for the first of `columns` that a row lacks. `path` names the data set in the message. */
export function requireColumns(rows: readonly Example[], columns: readonly string[], path: string): void {
  for (const column of columns) {
    const lacking = rows.findIndex((row) => !Object.hasOwn(row, column));
    if (lacking < 0) continue;
    const where = rows.some((row) => Object.hasOwn(row, column)) ? `row ${lacking + 1} of ${path}` : path;
    throw new GradusError('COLUMN_MISSING', `${where} has no column ${JSON.stringify(column)}`, {
      hint: existingNames(column, Object.keys(rows[lacking]!)),
      path: column,
    });
  }
}

export interface SplitRowsOptions {
  /** The part of the rows to hold out. @default 0.1 */
  readonly fraction?: number;
  /** The most rows to hold out. @default 256 */
  readonly atMost?: number;
  readonly seed: number;
}

/**
 * Holds out rows at random, at least one; both parts keep their order. Rows that equal a held-out one are left out of training.
 * Throws `DATASET_TOO_SMALL` if nothing is left to train on.
 */
export function splitRows<E extends Example>(
  rows: readonly E[],
  { fraction = 0.1, atMost = 256, seed }: SplitRowsOptions,
): { train: E[]; eval: E[] } {
  const count = Math.min(atMost, Math.max(1, Math.round(rows.length * fraction)));
  const chosen = new Set(shuffled([...rows.keys()], streamSeed(seed, 'held-out')).slice(0, count));
  const heldOut = rows.filter((_, i) => chosen.has(i));
  const known = new Set(heldOut.map((row) => JSON.stringify(row)));
  const train = rows.filter((row) => !known.has(JSON.stringify(row)));
  if (train.length > 0) return { train, eval: heldOut };
  throw new GradusError('DATASET_TOO_SMALL', `${rows.length} rows are too few to hold some out for evaluation`, {
    hint: 'add rows, or give an eval_dataset of its own',
    path: 'eval_fraction',
  });
}

async function findFile(path: string, { split = 'train', config }: LoadRowsOptions): Promise<string> {
  const kind = await kindOf(path);
  if (kind === undefined) {
    const isHubId = /^[\w.-]+\/[\w.-]+$/.test(path) && extname(path) === '';
    throw new GradusError('DATASET_NOT_FOUND', `there is no data set at ${path}`, {
      hint: isHubId
        ? 'data sets are not downloaded: give the path of a local copy'
        : `give the path of a file (${formats}), or of a folder with train.jsonl`,
      path: 'dataset',
    });
  }
  if (kind === 'file') {
    if (split === 'train') return path;
    throw splitNotFound(path, split, 'a single file has only the split train');
  }
  const folder = config !== undefined && (await kindOf(join(path, config))) === 'folder' ? join(path, config) : path;
  const files = (await readdir(folder)).filter((name) => extname(name) in readers).sort();
  const file = files.find((name) => name === split + extname(name));
  if (file !== undefined) return join(folder, file);
  throw splitNotFound(
    folder,
    split,
    files.length === 0 ? `it has no file in ${formats}` : `there is: ${files.join(', ')}`,
  );
}

async function kindOf(path: string): Promise<'file' | 'folder' | undefined> {
  const stats = await stat(path).catch(() => undefined);
  return stats && (stats.isDirectory() ? 'folder' : 'file');
}

function splitNotFound(path: string, split: string, hint: string): GradusError {
  return new GradusError('DATASET_SPLIT_NOT_FOUND', `${path} has no split ${JSON.stringify(split)}`, { hint, path });
}

function parseLines(text: string, path: string): unknown[] {
  const rows: unknown[] = [];
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() !== '') rows.push(parseRow(line, path, i + 1));
  }
  return rows;
}

function parseRow(line: string, path: string, number: number): unknown {
  const row = parseJson(line, path, `line ${number}`);
  if (isRow(row)) return row;
  throw malformed(path, `line ${number}`, 'it is no object');
}

function parseArray(text: string, path: string): unknown[] {
  const rows = parseJson(text, path, 'the file');
  if (!Array.isArray(rows)) throw malformed(path, 'the file', 'it is no array of objects');
  const wrong = rows.findIndex((row) => !isRow(row));
  if (wrong >= 0) throw malformed(path, `item ${wrong + 1}`, 'it is no object');
  return rows;
}

function parseJson(text: string, path: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed(path, where, messageOf(error));
  }
}

function isRow(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function malformed(path: string, where: string, fault: string): GradusError {
  return new GradusError('DATASET_MALFORMED', `${where} of ${path} is no row: ${fault.replaceAll(/\s+/g, ' ')}`, {
    hint: 'a row is a JSON object, such as {"question": "What is 2 + 2?", "answer": "4"}',
    path,
  });
}
