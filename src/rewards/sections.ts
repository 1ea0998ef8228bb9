// Parsers for the layouts that completions are asked for: XML-like sections and thinking before an answer.

/** What is between the last `<tag>` and the `</tag>` behind it, trimmed; `undefined` without both. */
export function xmlContent(text: string, tag: string): string | undefined {
  const end = text.lastIndexOf(`</${tag}>`);
  if (end < 0) return undefined;
  const start = text.lastIndexOf(`<${tag}>`, end);
  return start < 0 ? undefined : text.slice(start + tag.length + 2, end).trim();
}

export interface ThinkingParts {
  /** Between the tags, trimmed. */
  readonly thinking: string;
  /** Behind `</think>`, trimmed. */
  readonly answer: string;
}

/**
 * Splits `<think>…</think>answer`; `undefined` unless the text begins with one such section and has no other.
 * With `isOpen` the prompt ended in `<think>`, as some chat templates do, and the text begins inside.
 */
export function splitThinking(text: string, isOpen = false): ThinkingParts | undefined {
  const whole = isOpen ? `<think>${text}` : text.trimStart();
  const end = whole.indexOf('</think>');
  const isSingle = whole.lastIndexOf('<think>') === 0 && whole.lastIndexOf('</think>') === end;
  if (end < 0 || !isSingle) return undefined;
  return { thinking: whole.slice('<think>'.length, end).trim(), answer: whole.slice(end + '</think>'.length).trim() };
}
