// Things that a configuration selects by name and configures, such as rewards and task sets.
import { z } from 'zod';
import { GradusError } from '../errors.ts';
import { existingNames } from './nearest.ts';

/** A thing with settings, which a configuration selects by name: see `configurable`. */
export interface Configurable<T> {
  /** A one-line description, for lists and schemas. */
  readonly describe: string;
  readonly config: z.ZodType;
  /** Throws `CONFIG_INVALID` if `config` does not match the schema. */
  create(config: unknown): T;
}

/** A `Configurable` that validates the settings before it calls `make`. */
export function configurable<C, T>(describe: string, config: z.ZodType<C>, make: (config: C) => T): Configurable<T> {
  return {
    describe,
    config,
    create(given) {
      assertKnownKeys(config, given);
      const result = config.safeParse(given);
      if (result.success) return make(result.data);
      const [issue] = result.error.issues;
      const path = issue!.path.join('.');
      const fault = issue!.message.endsWith('received undefined') ? ' is missing' : `: ${issue!.message}`;
      throw new GradusError('CONFIG_INVALID', path ? path + fault : issue!.message, {
        hint: `${describe}; its keys: ${keysOf(config).join(', ')}`,
        ...(path && { path }),
      });
    },
  };
}

/** Throws for a key that the schema does not have; zod would drop it. */
function assertKnownKeys(schema: z.ZodType, given: unknown): void {
  const { properties, additionalProperties = false } = z.toJSONSchema(schema, { io: 'input' });
  if (!properties || additionalProperties !== false || typeof given !== 'object' || given === null) return;
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(properties, key));
  if (unknown === undefined) return;
  throw new GradusError('CONFIG_INVALID', `${unknown}: unknown key`, {
    hint: existingNames(unknown, Object.keys(properties)),
    path: unknown,
  });
}

function keysOf(schema: z.ZodType): string[] {
  return Object.keys(z.toJSONSchema(schema, { io: 'input' }).properties ?? {});
}

/** Creates with the settings at `path` of a configuration; errors name that path. */
export function createAt<T>(configurable: Configurable<T>, settings: unknown, path: string): T {
  try {
    return configurable.create(settings);
  } catch (error) {
    throw placedAt(error, path);
  }
}

/** An error about settings, which names the path at which a configuration has them. */
export function placedAt(error: unknown, path: string): unknown {
  if (!(error instanceof GradusError)) return error;
  const { code, message, hint, path: within, kind } = error;
  return new GradusError(code, within === undefined ? `${path}: ${message}` : `${path}.${message}`, {
    hint,
    path: within === undefined ? path : `${path}.${within}`,
    kind,
  });
}
