// Cuts a text at the first of several stop texts, as it grows or when it is complete. No part of a stop text is ever shown.

export interface StopTexts {
  /** Adds text, and returns the text that is now certain to be shown. */
  push(text: string): string;
  /** The text that was held back, once nothing follows it. */
  end(): string;
  /** Whether a stop text was found; everything behind it is dropped. */
  readonly found: boolean;
}

export function stopTexts(stops: readonly string[]): StopTexts {
  // Text that may be the beginning of a stop text is held back.
  const longest = Math.max(0, ...stops.map(({ length }) => length - 1));
  let held = '';
  let found = false;
  return {
    push(text) {
      if (found) return '';
      held += text;
      const at = Math.min(...stops.map((stop) => held.indexOf(stop)).filter((index) => index >= 0));
      found = Number.isFinite(at);
      const shown = held.slice(0, found ? at : Math.max(0, held.length - longest));
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
export function upToStop(text: string, stops: readonly string[]): string {
  const at = stops.map((stop) => text.indexOf(stop)).filter((index) => index >= 0);
  return at.length > 0 ? text.slice(0, Math.min(...at)) : text;
}
