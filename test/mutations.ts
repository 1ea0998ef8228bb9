// Random damage to files, for tests that a reader meets it with a clear error. Seeded, so that a failure repeats.

/** A stream of uniform integers below `limit`, by the mulberry32 generator. */
export function seededIntegers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

/** A damaged copy: bytes changed, a length-like field blown up, the end cut off, or a piece doubled or removed. */
export function mutate(file: Uint8Array, integer: (limit: number) => number): Uint8Array {
  const at = integer(file.length);
  const span = 1 + integer(16);
  switch (integer(5)) {
    case 0: {
      const copy = file.slice();
      for (let i = 0; i < span; i++) copy[integer(file.length)] = integer(256);
      return copy;
    }
    case 1: {
      const copy = file.slice();
      copy.fill(integer(2) === 0 ? 0xff : 0x7f, at, at + 1 + integer(8));
      return copy;
    }
    case 2:
      return file.slice(0, at);
    case 3:
      return Uint8Array.from([...file.slice(0, at + span), ...file.slice(at)]);
    default:
      return Uint8Array.from([...file.slice(0, at), ...file.slice(at + span)]);
  }
}

const strange: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  2 ** 31,
  2 ** 53,
  -1e308,
  1e308,
  '',
  'x',
  '\0',
  '__proto__',
  '../x',
  [],
  {},
  [[]],
  [null],
  { type: null },
  '\ud800',
  'a'.repeat(5000),
];

/** A JSON text with a value in it replaced, removed or doubled; it stays JSON. */
export function mutateJson(text: string, integer: (limit: number) => number): string {
  const root = { value: JSON.parse(text) as unknown };
  let holder: Record<string, unknown> | unknown[] = root;
  let key: string | number = 'value';
  for (;;) {
    const value: unknown = (holder as Record<string | number, unknown>)[key];
    const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
    // Now and then something in the middle, mostly a leaf.
    if (keys.length === 0 || integer(6) === 0) break;
    holder = value as Record<string, unknown>;
    key = keys[integer(keys.length)]!;
  }
  const target = holder as Record<string | number, unknown>;
  const choice = integer(4);
  if (choice === 0 && holder !== root) delete target[key];
  else if (choice === 1) target[`${key}${integer(10)}`] = target[key];
  else target[key] = structuredClone(strange[integer(strange.length)]);
  return JSON.stringify(root.value) ?? 'null';
}
