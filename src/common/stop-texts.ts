// Cuts a text at the first of several stop texts, as it grows or when it is complete. No part of a stop text is shown, or all of it.

export interface StopOptions {
  /** Whether the stop text itself is shown. @default false */
  readonly isShown?: boolean;
}

export interface StopTexts {
  /** Adds text, and returns the text that is now certain to be shown. */
  push(text: string): string;
  /** The text that was held back, once nothing follows it. */
  end(): string;
  /** Whether a stop text was found; everything after it is dropped. */
  readonly found: boolean;
}

export function stopTexts(stops: readonly string[], options: StopOptions = {}): StopTexts {
  // Text that may be the beginning of a stop text is held back.
  const longest = Math.max(0, ...stops.map(({ length }) => length - 1));
  let held = '';
  let found = false;
  return {
    push(text) {
      if (found) return '';
      held += text;
      const end = endOf(held, stops, options);
      found = end !== undefined;
      const shown = held.slice(0, end ?? Math.max(0, held.length - longest));
      held = found ? '' : held.slice(shown.length);
      return shown;
    },
    end: () => held,
    get found() {
      return found;
    },
  };
}

/** A complete text up to its first stop text. */
export function upToStop(text: string, stops: readonly string[], options: StopOptions = {}): string {
  return text.slice(0, endOf(text, stops, options));
}

/** The stop text that begins first, the first given of those that begin there, and where it begins; undefined without one. */
export function firstStop(
  text: string,
  stops: readonly string[],
): { readonly at: number; readonly stop: string } | undefined {
  let first: ReturnType<typeof firstStop>;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    if (at >= 0 && at < (first?.at ?? Number.POSITIVE_INFINITY)) first = { at, stop };
  }
  return first;
}

/** Where the text that is shown ends; undefined without a stop text. */
function endOf(text: string, stops: readonly string[], { isShown = false }: StopOptions): number | undefined {
  const first = firstStop(text, stops);
  return first && first.at + (isShown ? first.stop.length : 0);
}
