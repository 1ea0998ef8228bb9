// Reads Parquet: the rows of a file as plain JSON values.
import { type FileMetaData, type ParquetParsers, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { compressors as codecs } from 'hyparquet-compressors';
import { FormatError } from './format-error.ts';
import { parseWithAllDigits } from './jsonl.ts';
import { type Decimals, decimalValue, takeDecimals } from './parquet-decimals.ts';

/** Every file begins and ends with it. */
const MAGIC = 'PAR1';

/** The page of a column of nulls is empty, which LZ4's decoder mistakes for damage. */
const compressors: typeof codecs = Object.fromEntries(
  Object.entries(codecs).map(([name, decompress]) => [
    name,
    (input: Uint8Array, length: number) => (length === 0 ? new Uint8Array() : decompress(input, length)),
  ]),
);

/** The milliseconds in which a time is: times before 1970 are negative, and division of a bigint would bring them nearer to 0. */
const dateOf = (time: bigint, perMillisecond: bigint) =>
  new Date(Number((time - (((time % perMillisecond) + perMillisecond) % perMillisecond)) / perMillisecond));

const parsers = {
  timestampFromMicroseconds: (time: bigint) => dateOf(time, 1000n),
  timestampFromNanoseconds: (time: bigint) => dateOf(time, 1_000_000n),
  // See `takeDecimals`.
  dateFromDays: (days: unknown) => (days instanceof Uint8Array ? days : new Date((days as number) * 86_400_000)),
  jsonFromBytes: (bytes?: Uint8Array) => bytes && parseWithAllDigits(new TextDecoder().decode(bytes)),
} as unknown as ParquetParsers;

/**
 * All rows, whatever the compression. Whole numbers and decimals that a double cannot hold and infinity become texts, times ISO 8601, NaN null, so
 * that every value can be written as JSON. Throws `PARQUET_INVALID`.
 */
export async function readParquet(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  const ends = [bytes.subarray(0, 4), bytes.subarray(-4)].map((end) => String.fromCharCode(...end));
  if (bytes.length < 12 || ends.some((end) => end !== MAGIC)) {
    throw new FormatError('PARQUET_INVALID', 'it does not begin and end as Parquet does: torn, or of another format');
  }
  // When the library throws, columns that it has already started on would reject later, unhandled. They get no data instead.
  let failed = false;
  const file = {
    byteLength: bytes.length,
    slice: (from: number, to = bytes.length) =>
      new Promise<ArrayBuffer>((resolve) => {
        setTimeout(() => {
          if (!failed) resolve(new Uint8Array(bytes.subarray(from, to)).buffer);
        });
      }),
  };
  try {
    const metadata = await parquetMetadataAsync(file);
    assertPageSizes(bytes, metadata);
    const decimals = takeDecimals(metadata);
    const rows = await parquetReadObjects({ file, metadata, compressors, parsers });
    return rows.map((row) => plain(row, decimals) as Record<string, unknown>);
  } catch (error) {
    failed = true;
    throw new FormatError('PARQUET_INVALID', (error as Error).message.replaceAll(/\s+/g, ' ').slice(0, 200));
  }
}

/** Throws if a page does not tell its size, after which the library would read for ever. Goes through the pages that the library reads. */
function assertPageSizes(bytes: Uint8Array, { row_groups }: FileMetaData): void {
  for (const { columns, num_rows } of row_groups) {
    for (const { meta_data: column } of columns) {
      if (!column) continue;
      const { path_in_schema, dictionary_page_offset, data_page_offset, total_compressed_size } = column;
      const start = Number(dictionary_page_offset || data_page_offset);
      const pages = bytes.subarray(start, start + Number(total_compressed_size));
      const reader = { view: new DataView(pages.buffer, pages.byteOffset, pages.byteLength), offset: 0 };
      const isFlat = path_in_schema.length === 1;
      for (let values = 0; reader.offset < pages.length - 1 && !(isFlat && values >= num_rows); ) {
        const { compressed_page_size: size, data_page_header, data_page_header_v2 } = parquetHeader(reader);
        if (!(size >= 0)) throw new Error(`a page of column ${path_in_schema.join('.')} does not tell its size`);
        reader.offset += size;
        values += (data_page_header ?? data_page_header_v2)?.num_values ?? 0;
      }
    }
  }
}

function plain(value: unknown, decimals?: Decimals): unknown {
  if (typeof decimals === 'number' && !Array.isArray(value)) return decimalValue(value, decimals);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return Number.isNaN(value) ? null : String(value);
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, (item) => plain(item));
  if (Array.isArray(value)) return Array.from(value, (item) => plain(item, decimals));
  if (typeof value !== 'object' || value === null) return value ?? null;
  const within = (name: string) =>
    decimals instanceof Map ? decimals.get(name) : (decimals as { items: Decimals } | undefined)?.items;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item, within(name))]));
}
