// A place in a text that moves on as patterns are found there.

export interface TextCursor {
  readonly at: number;
  /** Moves behind a sticky pattern that is found here; `null` if it is not. */
  next(pattern: RegExp): RegExpExecArray | null;
  /** The text before a global pattern, behind which it moves; `undefined` if there is none. */
  until(pattern: RegExp): string | undefined;
}

export function textCursor(text: string, start: number): TextCursor {
  let at = start;
  const find = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  return {
    get at() {
      return at;
    },
    next: find,
    until(pattern) {
      const from = at;
      const found = find(pattern);
      return found ? text.slice(from, found.index) : undefined;
    },
  };
}
