// What flags of benchmarks say: names and counts. What no benchmark can do is an error before anything is measured, not an empty table.

/** What a flag asks for or this machine lacks, so that nothing can be measured. `main.ts` prints the message alone. */
export class CannotMeasure extends Error {}

type Flags = Readonly<Record<string, string | boolean | undefined>>;

/** The name that a flag gives. @param flag without its dashes @param known the names that there are */
export function one<Name extends string>(flags: Flags, flag: string, known: readonly Name[]): Name {
  return named(String(flags[flag]), flag, known);
}

/** The names in a flag's list with commas. */
export function chosen<Name extends string>(flags: Flags, flag: string, known: readonly Name[]): Name[] {
  return String(flags[flag])
    .split(',')
    .map((name) => named(name, flag, known));
}

/** The whole number, from 1, that a flag gives. */
export function count(flags: Flags, flag: string): number {
  return counted(String(flags[flag]), flag);
}

/** The whole numbers, from 1, in a flag's list with commas. */
export function counts(flags: Flags, flag: string): number[] {
  return String(flags[flag])
    .split(',')
    .map((text) => counted(text, flag));
}

function named<Name extends string>(name: string, flag: string, known: readonly Name[]): Name {
  const found = known.find((one) => one === name.trim());
  if (found === undefined) throw new CannotMeasure(`--${flag}: there is no '${name}'; there are ${known.join(', ')}`);
  return found;
}

function counted(text: string, flag: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new CannotMeasure(`--${flag}: '${text}' is no whole number from 1`);
  return value;
}
