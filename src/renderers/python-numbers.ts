// Numbers that Python writes differently from JavaScript: chat templates get marks instead, which are replaced by Python's form in their output.
import { parseWithNumbers } from '../common/json-numbers.ts';

export interface PythonNumbers {
  /** The value of a text in JSON, with marks, which are texts, for numbers that JavaScript would write differently. */
  marked(json: string): unknown;
  /** Replaces the marks in a template's output by numbers. */
  restored(text: string): string;
}

/** @param given everything the template is given, as one text, which must not contain a mark */
export function pythonNumbers(given: string): PythonNumbers {
  const numbers: string[] = [];
  let begin = '\ue000';
  while (given.includes(begin)) begin += '\ue000';
  const end = '\ue001';
  // A template writes a mark as a text: in quotes, with backslashes before them if it is part of another text.
  const mark = new RegExp(String.raw`(\\*["'])?${begin}(\d+)${end}(\\*["'])?`, 'g');
  return {
    marked: (json) =>
      parseWithNumbers(json, (source, value) => {
        const written = pythonNumber(source);
        return written === String(value) ? value : `${begin}${numbers.push(written) - 1}${end}`;
      }),
    restored: (text) => (numbers.length === 0 ? text : text.replaceAll(mark, (_, __, index) => numbers[index]!)),
  };
}

/** What Python's json.dumps writes for a number that json.loads has read: the digits of an integer, and of another its repr. */
function pythonNumber(source: string): string {
  if (/^-?\d+$/.test(source)) return String(BigInt(source));
  const value = Number(source);
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const exponential = value.toExponential();
  const exponent = Number(exponential.slice(exponential.indexOf('e') + 1));
  if (exponent < -4 || exponent >= 16) return exponential.replace(/e([+-])(\d)$/, 'e$10$2');
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
