// Opens the module of a backend: `<name>/<name>-backend.ts`, by the names in configurations. A run loads only its own, since native libraries
// take a while.
import type { BackendName } from '../config/backend-table.ts';
import type { Config } from '../config/schema.ts';
import type { Backend } from './backend.ts';

/** What the module of a backend exports. */
interface BackendModule {
  readonly backend: Backend;
}

export async function backendNamed(name: BackendName): Promise<Backend> {
  const { backend }: BackendModule = await import(`./${name}/${name}-backend.ts`);
  return backend;
}

/** The backend of a configuration. */
export function backendOf({ backend }: Config): Promise<Backend> {
  return backendNamed(backend);
}
