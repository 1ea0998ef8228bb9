// Settings of the hub (address, token, cache), from the environment variables that Python's huggingface_hub reads.
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface HubSettings {
  /** The hub's address, without a trailing slash. */
  readonly endpoint: string;
  readonly token?: string;
  /** The folder that contains `models--org--name` and `datasets--org--name`. */
  readonly cache: string;
  /** Whether to use only what is in the cache. */
  readonly offline: boolean;
  /** Wait before the second attempt of a request, in milliseconds; it doubles each time. */
  readonly firstWait: number;
  /** A connection that is silent for this many milliseconds counts as broken. */
  readonly silence: number;
}

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** Reads `HF_ENDPOINT`, `HF_TOKEN` (or the file that `hf auth login` writes), `HF_HOME`, `HF_HUB_CACHE` and `HF_HUB_OFFLINE`. */
export function hubSettings(environment: EnvironmentVariables = process.env): HubSettings {
  const home = environment.HF_HOME ?? join(environment.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'huggingface');
  const token = environment.HF_TOKEN ?? tokenFile(environment.HF_TOKEN_PATH ?? join(home, 'token'));
  return {
    endpoint: (environment.HF_ENDPOINT ?? 'https://huggingface.co').replace(/\/+$/, ''),
    ...(token?.trim() && { token: token.trim() }),
    cache: environment.HF_HUB_CACHE ?? join(home, 'hub'),
    offline: /^(1|true|yes|on)$/i.test(environment.HF_HUB_OFFLINE ?? ''),
    firstWait: 1000,
    silence: 30_000,
  };
}

function tokenFile(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
