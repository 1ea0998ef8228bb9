// A configuration as text, YAML or JSON: what it says, and on which line.
import { type ErrorCode, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { GradusError, messageOf } from '../errors.ts';

export interface ConfigText {
  readonly value: unknown;
  /** The line, counted from 1, on which the key at the end of `path` stands. */
  lineOf(path: readonly PropertyKey[]): number | undefined;
}

/**
 * Parses YAML, of which JSON is a part. Throws `CONFIG_SYNTAX` with the line.
 * @param name what errors call the text: its file
 */
export function parseConfigText(text: string, name: string): ConfigText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
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

  /** Aliases are resolved here, so that here is where they may be wrong. */
  function toValue(): unknown {
    try {
      return document.toJS();
    } catch (cause) {
      throw syntaxError(name, messageOf(cause));
    }
  }
}

/** Where the library speaks of itself. */
const faults: Partial<Record<ErrorCode, string>> = { MULTIPLE_DOCS: 'it holds several documents' };

/** One value in YAML, as `--set key=VALUE` has it. Throws `CONFIG_SYNTAX`. */
export function parseValue(text: string, name: string): unknown {
  return parseConfigText(text, name).value;
}

function syntaxError(name: string, fault: string, line?: number): GradusError {
  const place = line === undefined ? name : `${name}:${line}`;
  const said = /call stack/.test(fault) ? 'it is nested too deeply' : fault.replaceAll(/\s+/g, ' ');
  return new GradusError('CONFIG_SYNTAX', `${place}: ${said}`, {
    hint: 'mend the YAML (indentation, quotes, colons) or JSON',
    path: place,
  });
}
