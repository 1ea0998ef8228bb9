// What a table of filters is.
import type { Bound } from './signature.ts';
import type { Named, Value } from './values.ts';

export type Filter = (value: Value, given: readonly Value[], named: Named) => Value;

/** Filters by their names: with a description of their parameters, of which the first is the value, or with all arguments as they are given. */
export type FilterTable = Readonly<Record<string, Filter | readonly [string, (...given: Bound) => Value]>>;
