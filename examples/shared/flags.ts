// Shared by the examples: the flags of their command lines.
import { parseArgs } from 'node:util';

/** The flags of the command line, and the defaults of the others. A flag is a number, a switch or a text, like its default. */
export function parseFlags<Flags extends Readonly<Record<string, string | number | boolean>>>(defaults: Flags): Flags {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => {
      const type = typeof value === 'boolean' ? ('boolean' as const) : ('string' as const);
      return [name, { type, default: typeof value === 'boolean' ? value : String(value) }];
    }),
  );
  const { values } = parseArgs({ options });
  const entries = Object.entries(defaults).map(([name, value]) => [
    name,
    typeof value === 'number' ? Number(values[name]) : values[name],
  ]);
  return Object.fromEntries(entries) as Flags;
}
