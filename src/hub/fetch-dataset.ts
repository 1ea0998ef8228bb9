// Files of a data set of the hub, fetched: those that are asked for and no others.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { GradusError } from '../errors.ts';
import { cachedSnapshot } from './hub-cache.ts';
import type { HubId } from './hub-id.ts';
import { fetchFiles, openHubRepo } from './hub-repo.ts';
import { described, type HubSubject } from './hub-request.ts';
import type { HubSettings } from './hub-settings.ts';

/** Picks from the paths of a repository; throws where what is wanted is not among them. */
export type ChooseFiles = (paths: readonly string[]) => readonly string[];

/**
 * Where the chosen files lie in the cache, downloaded as far as they are not there. What the cache has of the revision is taken as it is,
 * without asking the hub, so that a run that goes on reads the rows that it began with.
 * Throws `DATASET_NOT_FOUND` where the hub may not be asked, what requests to the hub throw, and what `choose` throws.
 */
export async function fetchDataset(
  settings: HubSettings,
  id: HubId,
  choose: ChooseFiles,
  signal?: AbortSignal,
): Promise<string[]> {
  const cached = cachedFiles(settings, id, choose);
  if (cached) return cached;
  const subject: HubSubject = { ...id, type: 'dataset' };
  if (settings.offline) {
    throw new GradusError('DATASET_NOT_FOUND', `${described(subject)} is not on this machine`, {
      hint: 'unset HF_HUB_OFFLINE to download it, or give the path of a copy',
      path: 'dataset',
      kind: 'not_ready',
    });
  }
  const repo = await openHubRepo(settings, subject, signal);
  const chosen = choose(repo.files.map(({ path }) => path));
  const files = repo.files.filter(({ path }) => chosen.includes(path));
  const folder = await fetchFiles(settings, repo, files, signal);
  return chosen.map((path) => join(folder, path));
}

function cachedFiles({ cache }: HubSettings, id: HubId, choose: ChooseFiles): string[] | undefined {
  const folder = cachedSnapshot(cache, 'dataset', id);
  if (folder === undefined) return undefined;
  const paths = readdirSync(folder, { recursive: true }).map((path) => String(path).replaceAll('\\', '/'));
  const chosen = attempt(() => choose(paths));
  return chosen && areWhole(chosen) ? chosen.map((path) => join(folder, path)) : undefined;
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Of `train-00000-of-00002.parquet` there are two; Python may have fetched one. */
function areWhole(paths: readonly string[]): boolean {
  return paths.every((path) => {
    const [, before, count] = /^(.*)-\d{5}-of-(\d{5})/.exec(path) ?? [];
    return count === undefined || paths.filter((other) => other.startsWith(`${before}-`)).length >= Number(count);
  });
}
