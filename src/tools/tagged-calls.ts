// Finds calls between <tool_call> and </tool_call>, whatever their syntax.
import type { FoundCall, NamedArguments } from './tool-syntax.ts';

const [open, close] = ['<tool_call>', '</tool_call>'];

export function tagged(body: string): string {
  return open + body + close;
}

/** Finds a tagged call outside of `<think>…</think>`. */
export function findTagged(
  text: string,
  ended: boolean,
  parse: (body: string) => NamedArguments | string,
): FoundCall | undefined {
  const start = text.indexOf(open, afterThinking(text));
  if (start < 0) return undefined;
  const bodyEnd = text.indexOf(close, start);
  if (bodyEnd >= 0)
    return { start, end: bodyEnd + close.length, call: parse(text.slice(start + open.length, bodyEnd)) };
  return ended ? { start, end: text.length, call: `the call does not end with ${close}` } : undefined;
}

/** See `ToolSyntax.mayBegin`. */
export function mayBeginTagged(text: string): number {
  const from = afterThinking(text);
  const start = text.indexOf(open, from);
  return start >= 0 ? start : Math.max(from, text.length - overlap(text, open));
}

/** The number of characters at the end of `text` that are the beginning of `beginning`. */
export function overlap(text: string, beginning: string): number {
  for (let length = Math.min(text.length, beginning.length); length > 0; length--)
    if (text.endsWith(beginning.slice(0, length))) return length;
  return 0;
}

function afterThinking(text: string): number {
  if (!text.trimStart().startsWith('<think>')) return 0;
  const end = text.indexOf('</think>');
  return end < 0 ? text.length : end;
}
