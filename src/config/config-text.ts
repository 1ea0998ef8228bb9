// Parses a configuration in YAML or JSON, and knows the line of each key.
import { type ErrorCode, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { GradusError, messageOf } from '../errors.ts';

export interface ConfigText {
  readonly value: unknown;
  /** The line, counted from 1, of the key at `path`. */
  lineOf(path: readonly PropertyKey[]): number | undefined;
}

/**
 * Parses YAML, which includes JSON. Throws `CONFIG_SYNTAX` with the line.
 * @param name of the text in errors, usually its file
 */
export function parseConfigText(text: string, name: string): ConfigText {
  const lines = new LineCounter();
  // The parser's warnings would follow our error on stderr, which has to be the last line there. Merge keys (`<<`) are of YAML 1.1.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error', merge: true });
  const [error] = document.errors;
  if (error) throw syntaxError(name, faults[error.code] ?? error.message, lines.linePos(error.pos[0]).line);
  return {
    value: toValue(),
    lineOf(path) {
      let node: unknown = document.contents;
      let offset: number | undefined;
      for (const key of path) {
        if (isMap(node)) {
          const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key);
          if (!pair) break;
          offset = isScalar(pair.key) ? pair.key.range?.[0] : offset;
          node = pair.value;
        } else if (isSeq(node)) {
          node = node.items[Number(key)];
          offset = (node as { range?: [number, number, number] } | undefined)?.range?.[0] ?? offset;
        } else break;
      }
      return offset === undefined ? undefined : lines.linePos(offset).line;
    },
  };

  /** Converts the document to plain values. Aliases are resolved here, so errors in them appear here. */
  function toValue(): unknown {
    try {
      return document.toJS();
    } catch (cause) {
      throw syntaxError(name, messageOf(cause));
    }
  }
}

/** Our words for errors that the library explains by its own functions. */
const faults: Partial<Record<ErrorCode, string>> = { MULTIPLE_DOCS: 'it holds several documents' };

/** Parses one value in YAML, as in `--set key=VALUE`. Throws `CONFIG_SYNTAX`. */
export function parseValue(text: string, name: string): unknown {
  return parseConfigText(text, name).value;
}

function syntaxError(name: string, fault: string, line?: number): GradusError {
  const place = line === undefined ? name : `${name}:${line}`;
  const said = /call stack/.test(fault) ? 'it is nested too deeply' : fault;
  return new GradusError('CONFIG_SYNTAX', `${place}: ${said}`, {
    hint: 'correct the YAML (indentation, quotes, colons) or JSON',
    path: place,
  });
}
