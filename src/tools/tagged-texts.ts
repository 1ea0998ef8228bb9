// Finds calls between two tags that have a name and then, between marks of their own, keys and texts: <arg_key>a</arg_key><arg_value>5</arg_value>.
import type { ToolSpec } from '../message.ts';
import type { CallParts } from '../rendering.ts';
import { mayBeginWith, unended } from './tagged-calls.ts';
import { callFromTexts, callInTexts, type WrittenArgument } from './text-arguments.ts';
import { textCursor } from './text-cursor.ts';
import type { FoundCall, NamedArguments, ToolSyntax } from './tool-syntax.ts';

/** The patterns match where the one before has ended, but for the ends of texts, which are searched for. */
export interface TaggedTexts {
  readonly open: string;
  readonly close: string;
  /** Its first group is the name. */
  readonly name: RegExp;
  /** The mark of an argument, up to its text. */
  readonly key: RegExp;
  /** What a match of `key` says: the key, how its text ends, and, if the mark says so, whether it is a string. */
  argument(mark: RegExpExecArray): readonly [key: string, end: RegExp, isString?: boolean | undefined];
  /** The rest of a call behind its last argument. */
  readonly tail: RegExp;
  /** What follows the last of several calls between one pair of tags. @default there is one call, whose tail has the closing tag */
  readonly end?: RegExp;
  /** The error of a call that is not so. */
  readonly fault: string;
}

/** The syntax of such calls, where values are written as texts. @param parts of a call, by its name */
export function textsSyntax(
  texts: TaggedTexts,
  parts: (name: string) => CallParts,
  others: Pick<ToolSyntax, 'markers' | 'thoughts'>,
): ToolSyntax {
  return {
    ...others,
    lastCharacters: '>',
    find: (text, ended, tools) => findTexts(texts, text, ended, tools),
    mayBegin: (text) => mayBeginWith(text, texts.open),
    render: (call) => callInTexts(call, parts(call.name)),
    parts,
  };
}

/** See `ToolSyntax.find`. A text may be anything: without its end, nothing behind it is known. */
export function findTexts(
  { open, close, name, key, argument, tail, end, fault }: TaggedTexts,
  text: string,
  ended: boolean,
  tools: readonly ToolSpec[],
): FoundCall | undefined {
  const start = text.indexOf(open);
  if (start < 0) return undefined;
  const calls: NamedArguments[] = [];
  const cursor = textCursor(text, start + open.length);
  const unfinished = ended ? { start, end: text.length, call: unended(close) } : undefined;
  for (let called = cursor.next(name)?.[1]; called !== undefined; called = cursor.next(name)?.[1]) {
    const entries: WrittenArgument[] = [];
    for (let mark = cursor.next(key); mark; mark = cursor.next(key)) {
      const [given, textEnd, isString] = argument(mark);
      const value = cursor.until(textEnd);
      if (value === undefined) return unfinished;
      entries.push([given, value, isString]);
    }
    if (!cursor.next(tail)) break;
    calls.push(callFromTexts(called, entries, tools));
    if (!end || cursor.next(end)) return { start, end: cursor.at, call: end ? calls : calls[0]! };
  }
  const closing = text.indexOf(close, cursor.at);
  return closing < 0 ? unfinished : { start, end: closing + close.length, call: fault };
}
