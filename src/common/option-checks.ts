// Checks the options that programs give to trainers, generators and models: without TypeScript, nothing else notices one that is misspelt or missing.

import { GradusError, kindOf } from '../errors.ts';
import { existingNames } from './nearest.ts';

/** A part that is required, by the methods that are called on it, and what makes one. */
interface PartDemand {
  readonly methods: readonly string[];
  readonly made: string;
}

/** What is asked of an option: to be such a part, to be one of some names if it is given, or nothing. */
export type Demand = PartDemand | { readonly names: readonly string[] } | null;

/**
 * Throws `OPTION_INVALID` for an option that is not in the table, and for a value that is not what the table asks for.
 * @param within the option that holds these
 */
export function assertOptions<Options extends object>(
  options: Options,
  table: Readonly<Record<keyof Options, Demand>>,
  within?: string,
): void {
  const pathOf = (name: string) => (within === undefined ? name : `${within}.${name}`);
  if (kindOf(options) !== 'an object') {
    throw new GradusError('OPTION_INVALID', `${within ?? 'options'}: expected an object, got ${kindOf(options)}`, {
      hint: `there is: ${Object.keys(table).join(', ')}`,
      path: within ?? '',
    });
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(table, name));
  if (unknown !== undefined) {
    throw new GradusError('OPTION_INVALID', `${pathOf(unknown)}: there is no such option`, {
      hint: existingNames(unknown, Object.keys(table)),
      path: pathOf(unknown),
    });
  }
  for (const [name, demand] of Object.entries<Demand>(table)) {
    assertMet(pathOf(name), (options as Readonly<Record<string, unknown>>)[name], demand);
  }
}

/** Throws `OPTION_INVALID` unless the value is what is asked for. */
export function assertMet(path: string, value: unknown, demand: Demand): void {
  if (demand === null) return;
  if ('names' in demand) {
    if (value === undefined || demand.names.includes(value as string)) return;
    throw new GradusError('OPTION_INVALID', `${path}: expected one of ${demand.names.join(', ')}, got ${told(value)}`, {
      hint: typeof value === 'string' ? existingNames(value, demand.names) : `there is: ${demand.names.join(', ')}`,
      path,
    });
  }
  const { methods, made } = demand;
  const part = value as Readonly<Record<string, unknown>> | null | undefined;
  const missing = methods.find((method) => typeof part?.[method] !== 'function');
  if (missing === undefined) return;
  throw new GradusError('OPTION_INVALID', `${path}: expected an object with ${missing}(), got ${told(value)}`, {
    hint: `${made} makes one`,
    path,
  });
}

function told(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : kindOf(value);
}
