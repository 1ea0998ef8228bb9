// The environment of a configuration, loaded from the user's file, with its settings checked.
import type { Config } from '../../config/schema.ts';
import { isObject } from '../../config/values.ts';
import type { Configurable } from '../../configurable.ts';
import type { Environment } from '../../environment.ts';
import { environmentByColumn } from '../../envs/by-column.ts';
import { GradusError } from '../../errors.ts';
import { existingNames } from '../../nearest.ts';
import { atPath } from './open-rewards.ts';
import { PolicyCalls } from './policy-calls.ts';
import { isPython, loadExport, loadFailed, type UserExport } from './user-module.ts';

const wanted: UserExport = {
  what: 'environment',
  code: 'ENVIRONMENT_LOAD_FAILED',
  names: ['environment', 'default'],
};

/**
 * The environment, or that of each row where there are several; `undefined` where the configuration has none. Throws `ENVIRONMENT_LOAD_FAILED`
 * for a file that does not load or exports no environment, `CONFIG_INVALID` for settings that are not as its schema says.
 * @param calls what environments in Python may ask
 */
export async function openEnvironment(
  config: Config,
  calls = new PolicyCalls(config),
): Promise<Environment | undefined> {
  const { environment, environment_config, environment_column } = config;
  if (environment === null) return undefined;
  const { handlers } = calls;
  if (typeof environment === 'string') return loadEnvironment(environment, environment_config, { handlers });
  const names = Object.keys(environment);
  for (const [name, settings] of Object.entries(environment_config)) {
    if (names.includes(name) && isObject(settings)) continue;
    throw new GradusError('CONFIG_INVALID', `environment_config.${name}: expected the settings of an environment`, {
      hint: `of several environments each has settings under its name; ${existingNames(name, names)}`,
      path: `environment_config.${name}`,
    });
  }
  const opened = await Promise.all(
    Object.entries(environment).map(async ([name, reference]) => {
      const settings = (environment_config[name] ?? {}) as Record<string, unknown>;
      const path = `environment_config.${name}`;
      return [name, await loadEnvironment(reference, settings, { path, handlers })] as const;
    }),
  );
  return environmentByColumn(environment_column, Object.fromEntries(opened));
}

export interface LoadEnvironmentOptions {
  /** Where the settings are, for errors. @default 'environment_config' */
  readonly path?: string;
  /** What an environment in Python may ask. @default nothing */
  readonly handlers?: PolicyCalls['handlers'];
}

export async function loadEnvironment(
  reference: string,
  settings: Readonly<Record<string, unknown>>,
  { path = 'environment_config', handlers = {} }: LoadEnvironmentOptions = {},
): Promise<Environment> {
  if (isPython(reference)) {
    const { loadPythonEnvironment } = await import('./python-environment.ts');
    return loadPythonEnvironment(reference, settings, handlers);
  }
  const { file, value } = await loadExport(reference, wanted);
  if (isConfigurable(value)) return checked(file, created(value, settings, path));
  const environment = checked(file, value);
  const [key] = Object.keys(settings);
  if (key === undefined) return environment;
  throw new GradusError('CONFIG_INVALID', `${path}.${key}: the environment takes no settings`, {
    hint: `leave ${path} out, or export configurable(…) with a schema`,
    path: `${path}.${key}`,
  });
}

function created(environment: Configurable<unknown>, settings: unknown, path: string): unknown {
  try {
    return environment.create(settings);
  } catch (error) {
    throw error instanceof GradusError ? atPath(error, path) : error;
  }
}

const shape = 'export { build(example) { return { start, step } } }, or configurable(what, schema, (settings) => it)';

function checked(file: string, value: unknown): Environment {
  if (!isObject(value) || typeof value.build !== 'function') {
    const found = typeof value === 'function' ? 'a function' : 'something else';
    throw loadFailed(file, wanted, `it is no environment but ${found}`, shape);
  }
  const { scores = [] } = value;
  if (Array.isArray(scores) && scores.every((name) => typeof name === 'string')) return value as unknown as Environment;
  throw loadFailed(file, wanted, 'its scores are no list of names', "write scores: ['correct'], the names alone");
}

function isConfigurable(value: unknown): value is Configurable<unknown> {
  return isObject(value) && typeof value.create === 'function' && 'config' in value;
}
