// The environment of a configuration, loaded from the user's file, with its settings checked.
import type { Config } from '../../config/schema.ts';
import type { Environment } from '../../environment.ts';
import { environmentByColumn } from '../../envs/by-column.ts';
import { GradusError, isObject } from '../../errors.ts';
import { existingNames } from '../../nearest.ts';
import type { NamedEnvironment } from './load-environment.ts';
import { PolicyCalls } from './policy-calls.ts';
import { isPython } from './user-files.ts';

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
  if (typeof environment === 'string') {
    return open({ reference: environment, settings: environment_config, path: 'environment_config' }, handlers);
  }
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
      return [name, await open({ reference, settings, path }, handlers)] as const;
    }),
  );
  return environmentByColumn(environment_column, Object.fromEntries(opened));
}

async function open(named: NamedEnvironment, handlers: PolicyCalls['handlers']): Promise<Environment> {
  if (isPython(named.reference)) {
    const { loadPythonEnvironment } = await import('./python-environment.ts');
    return loadPythonEnvironment(named.reference, named.settings, handlers);
  }
  const { openRemoteEnvironment } = await import('./remote-environment.ts');
  return openRemoteEnvironment(named);
}
