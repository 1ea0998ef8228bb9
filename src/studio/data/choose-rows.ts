// Renames the columns of a data set and filters its rows, as a configuration says.
import type { Config } from '../../config/schema.ts';
import { valueAt } from '../../config/values.ts';
import { templateColumns } from '../../envs/prompt-template.ts';
import { GradusError } from '../../errors.ts';
import type { Example } from '../../rl.ts';
import { assertColumns } from './data-files.ts';

type Condition = Config['filter'][string];

/**
 * Applies `columns`, then `filter`. Names with dots, such as `translation.en` or `messages.0.content`, lead into objects and lists. Throws `COLUMN_MISSING` if a row lacks a column that they name, and `DATASET_EMPTY` if no row passes the filter.
 * @param path of the data set, for errors
 */
export function chooseRows(rows: readonly Example[], config: Config, path: string): readonly Example[] {
  const { columns, filter } = config;
  const renamed = withColumns(rows, { ...nestedColumns(rows, config), ...columns }, path);
  const conditions = Object.entries(filter);
  if (conditions.length === 0) return renamed;
  const names = conditions.map(([name]) => name);
  assertColumns(renamed, names, path);
  const kept = renamed.filter((row) => conditions.every(([name, condition]) => holds(condition, row[name])));
  if (kept.length > 0) return kept;
  throw new GradusError('DATASET_EMPTY', `no row of ${path} passes the filter on ${names.join(', ')}`, {
    hint: 'loosen the filter; values of CSV files are texts',
    path: 'filter',
  });
}

/** The names with dots by which prompts, answers and conditions call what a row holds further inside, each as a column. */
function nestedColumns(rows: readonly Example[], config: Config): Config['columns'] {
  const { prompt_template, prompt_column, answer_column, filter } = config;
  const prompts = prompt_template === null ? [prompt_column] : templateColumns(prompt_template);
  const nested = [...prompts, answer_column, ...Object.keys(filter)].filter(
    (name) => name.includes('.') && rows.some((row) => !Object.hasOwn(row, name) && reach(row, name).length > 0),
  );
  return Object.fromEntries(nested.map((name) => [name, name]));
}

/** Adds columns under new names. The old column stays, so that it can have several new names. A name with dots may lead into objects. */
function withColumns(rows: readonly Example[], columns: Config['columns'], path: string): readonly Example[] {
  const names = Object.entries(columns);
  if (names.length === 0) return rows;
  const sources = Object.values(columns);
  const reached = rows.map((row) => ({ ...row, ...Object.fromEntries(sources.flatMap((from) => reach(row, from))) }));
  assertColumns(reached, sources, path);
  return rows.map((row, i) => ({
    ...row,
    ...Object.fromEntries(names.map(([name, from]) => [name, reached[i]![from]])),
  }));
}

/** The column of that name, or what its parts lead to from object to object; no entry if there is neither. */
function reach(row: Example, name: string): [string, unknown][] {
  const value = Object.hasOwn(row, name) ? row[name] : valueAt(row, name.split('.'));
  return value === undefined ? [] : [[name, value]];
}

function holds(condition: Condition, value: unknown): boolean {
  if (Array.isArray(condition)) return condition.includes(value as string);
  if (typeof condition !== 'object' || condition === null) return condition === value;
  const { min, max, matches } = condition;
  const number = value === null || value === '' ? Number.NaN : Number(value);
  return (
    (min === undefined || number >= min) &&
    (max === undefined || number <= max) &&
    (matches === undefined || new RegExp(matches, 'u').test(String(value)))
  );
}
