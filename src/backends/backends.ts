// The table of backends, by the names in configurations. A run loads only its own, since native libraries take a while.
import type { Config } from '../config/schema.ts';
import type { SupportedBackend } from '../config/support.ts';
import type { Backend } from './backend.ts';

export const backends: Readonly<Record<SupportedBackend, () => Promise<Backend>>> = {
  builtin: async () => (await import('./builtin/builtin-backend.ts')).builtinBackend,
  native: async () => (await import('./native/native-backend.ts')).nativeBackend,
  tinker: async () => (await import('./tinker/tinker-backend.ts')).tinkerBackend,
  trl: async () => (await import('./trl/trl-backend.ts')).trlBackend,
};

/** The backend of a configuration. Unsupported ones were refused when the configuration was loaded. */
export function backendOf({ backend }: Config): Promise<Backend> {
  return backends[backend as SupportedBackend]();
}
