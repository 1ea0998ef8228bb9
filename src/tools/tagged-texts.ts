// Finds calls between two tags that have a name and then, between marks of their own, keys and texts: <arg_key>a</arg_key><arg_value>5</arg_value>.
import type { ToolSpec } from '../message.ts';
import { unended } from './tagged-calls.ts';
import { callFromTexts } from './text-arguments.ts';
import { textCursor } from './text-cursor.ts';
import type { FoundCall } from './tool-syntax.ts';

/** The patterns match where the one before has ended, but for the ends of texts, which are searched for. */
export interface TaggedTexts {
  readonly open: string;
  readonly close: string;
  /** Its first group is the name. */
  readonly name: RegExp;
  /** The mark of an argument, up to its text. */
  readonly key: RegExp;
  /** What a match of `key` says: the key, and how its text ends. */
  argument(mark: RegExpExecArray): readonly [key: string, end: RegExp];
  /** The rest of a call behind its last argument. */
  readonly tail: RegExp;
  /** The error of a call that is not so. */
  readonly fault: string;
}

/** See `ToolSyntax.find`. A text may be anything: without its end, nothing behind it is known. */
export function findTexts(
  { open, close, name, key, argument, tail, fault }: TaggedTexts,
  text: string,
  ended: boolean,
  tools: readonly ToolSpec[],
): FoundCall | undefined {
  const start = text.indexOf(open);
  if (start < 0) return undefined;
  const entries: [string, string][] = [];
  const cursor = textCursor(text, start + open.length);
  const unfinished = ended ? { start, end: text.length, call: unended(close) } : undefined;
  const called = cursor.next(name)?.[1];
  if (called !== undefined) {
    for (let mark = cursor.next(key); mark; mark = cursor.next(key)) {
      const [given, end] = argument(mark);
      const value = cursor.until(end);
      if (value === undefined) return unfinished;
      entries.push([given, value]);
    }
    if (cursor.next(tail)) return { start, end: cursor.at, call: callFromTexts(called, entries, tools) };
  }
  const closing = text.indexOf(close, cursor.at);
  return closing < 0 ? unfinished : { start, end: closing + close.length, call: fault };
}
