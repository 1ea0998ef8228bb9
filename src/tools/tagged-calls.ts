// Finds calls between an opening and a closing tag, such as <tool_call> and </tool_call>, whatever their syntax.
import { jsonExtent } from './json-extent.ts';
import type { FoundCall, NamedArguments } from './tool-syntax.ts';

const [open, close] = ['<tool_call>', '</tool_call>'];

export function tagged(body: string): string {
  return open + body + close;
}

/** Finds a tagged call, whose body has a JSON object: a closing tag in one of its strings is text. */
export function findTagged(
  text: string,
  ended: boolean,
  parse: (body: string) => NamedArguments | string,
): FoundCall | undefined {
  const start = text.indexOf(open);
  if (start < 0) return undefined;
  const bodyStart = start + open.length;
  const bodyEnd = endOfBody(text, bodyStart, close);
  if (bodyEnd >= 0) return { start, end: bodyEnd + close.length, call: parse(text.slice(bodyStart, bodyEnd)) };
  return ended ? { start, end: text.length, call: unended(close) } : undefined;
}

/** The error of a call without its end. */
export const unended = (end: string) => `the call does not end with ${end}`;

/** The index of the closing tag behind a body with a JSON object; below 0 if there is none yet. */
export function endOfBody(text: string, bodyStart: number, close: string): number {
  const first = text.indexOf(close, bodyStart);
  const json = text.indexOf('{', bodyStart);
  if (first < 0 || json < 0 || first < json) return first;
  const extent = jsonExtent(text, json);
  if ('isOpen' in extent) return -1;
  return text.indexOf(close, 'end' in extent ? extent.end : extent.brokenAfter);
}

/** See `ToolSyntax.mayBegin`. */
export function mayBeginTagged(text: string): number {
  return mayBeginWith(text, open);
}

/** See `ToolSyntax.mayBegin`, of what begins with one of these tags. */
export function mayBeginWith(text: string, ...tags: readonly string[]): number {
  const starts = tags.map((tag) => {
    const start = text.indexOf(tag);
    return start >= 0 ? start : text.length - overlap(text, tag);
  });
  return Math.min(...starts);
}

/** The first of some marks that are neither text nor a call, as a find without calls; undefined if a call starts before it. @param start below 0 if there is no call */
export function markBefore(text: string, marks: readonly string[], start: number): FoundCall | undefined {
  const found = marks.map((mark) => ({ mark, at: text.indexOf(mark) })).filter(({ at }) => at >= 0);
  const [first] = found.sort((a, b) => a.at - b.at);
  if (!first || (start >= 0 && start < first.at)) return undefined;
  return { start: first.at, end: first.at + first.mark.length, call: [] };
}

/** The number of characters at the end of `text` that are the beginning of `beginning`. */
export function overlap(text: string, beginning: string): number {
  for (let length = Math.min(text.length, beginning.length); length > 0; length--)
    if (text.endsWith(beginning.slice(0, length))) return length;
  return 0;
}
