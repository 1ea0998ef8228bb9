// Decimals in Parquet: whole numbers and a scale, which the library would multiply as doubles, so that 0.3 became 0.30000000000000004.
import { type FileMetaData, parquetSchema, type SchemaElement, type SchemaTree } from 'hyparquet';
import { isListLike, isMapLike } from 'hyparquet/src/schema.js';

/** Far more than any writer knows; a damaged file may tell any number. */
const MOST_PLACES = 1000;

/** Where decimals are in a value: their scale, or the fields of an object that have some. The items of lists and the values of maps are alike. */
export type Decimals = number | ReadonlyMap<string, Decimals> | { readonly items: Decimals };

/** Finds the decimals in a file's rows, and changes its description so that the library reads them as whole numbers and bytes. */
export function takeDecimals(metadata: FileMetaData): Decimals | undefined {
  return decimalsOf(parquetSchema(metadata));
}

function decimalsOf(tree: SchemaTree): Decimals | undefined {
  const { element, children } = tree;
  if (children.length === 0) return takeScale(element);
  if (isListLike(tree)) {
    const [repeated] = children as [SchemaTree];
    return decimalsOf(repeated.children.length === 1 ? repeated.children[0]! : repeated);
  }
  if (isMapLike(tree)) {
    const [, value] = children[0]!.children.map(decimalsOf);
    return value === undefined ? undefined : { items: value };
  }
  const fields = new Map<string, Decimals>();
  for (const child of children) {
    const found = decimalsOf(child);
    if (found !== undefined) fields.set(child.element.name, found);
  }
  return fields.size > 0 ? fields : undefined;
}

function takeScale(element: SchemaElement): number | undefined {
  const { converted_type, logical_type, scale } = element;
  if (converted_type !== 'DECIMAL' && logical_type?.type !== 'DECIMAL') return undefined;
  delete element.logical_type;
  // As dates, bytes reach `dateFromDays` as they are; without a type they would become text.
  if (element.type === 'BYTE_ARRAY') element.converted_type = 'DATE';
  else delete element.converted_type;
  const places = scale ?? (logical_type?.type === 'DECIMAL' ? logical_type.scale : 0);
  if (!(places >= 0 && places <= MOST_PLACES)) throw new Error(`column ${element.name} has ${places} decimal places`);
  return places;
}

/** A decimal as a number if the number is written with the same digits, and as text otherwise. @param value a whole number, or its bytes */
export function decimalValue(value: unknown, scale: number): number | string | null {
  if (value === undefined || value === null) return null;
  const whole = value instanceof Uint8Array ? wholeNumber(value) : BigInt(value as number | bigint);
  const digits = String(whole < 0n ? -whole : whole).padStart(scale + 1, '0');
  const point = digits.length - scale;
  const sign = whole < 0n ? '-' : '';
  const text = `${sign}${digits.slice(0, point)}${scale > 0 ? `.${digits.slice(point)}` : ''}`;
  // A double holds any 15 digits.
  if (digits.length <= 15) return Number(text);
  const written = scale > 0 ? text.replace(/\.?0+$/, '') : text;
  return String(Number(text)) === written ? Number(text) : text;
}

/** Big-endian, two's complement. */
function wholeNumber(bytes: Uint8Array): bigint {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x${hex || '0'}`));
}
