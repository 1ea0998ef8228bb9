// The backends by the names that configurations give them. A run loads its own and no other: native libraries take their time.
import type { Config } from '../config/schema.ts';
import type { SupportedBackend } from '../config/support.ts';
import type { Backend } from './backend.ts';

export const backends: Readonly<Record<SupportedBackend, () => Promise<Backend>>> = {
  builtin: async () => (await import('./builtin/builtin-backend.ts')).builtinBackend,
  native: async () => (await import('./native/native-backend.ts')).nativeBackend,
  trl: async () => (await import('./trl/trl-backend.ts')).trlBackend,
};

/** The backend of a configuration. Those that are not supported were refused when it was loaded. */
export function backendOf({ backend }: Config): Promise<Backend> {
  return backends[backend as SupportedBackend]();
}
