// Finds a model on this machine by its path or its Hugging Face id. Nothing is downloaded.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { GradusError } from '../errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The path that a name means: itself, else in Hugging Face's cache, else `$GRADUS_MODELS/<id>` or `$GRADUS_MODELS/<its last part>`, letter
 * case aside. Throws `MODEL_NOT_FOUND`.
 */
export function findModel(name: string, environment: Environment = process.env): string {
  if (existsSync(name)) return resolve(name);
  const found = isAbsolute(name)
    ? undefined
    : (inHuggingFaceCache(name, environment) ?? inModelsFolder(name, environment));
  if (found !== undefined) return found;
  const isId = /^[\w-][\w.-]*(\/[\w.-]+)?$/.test(name);
  throw new GradusError('MODEL_NOT_FOUND', `model ${name} is not on this machine`, {
    hint: isId ? `fetch it (hf download ${name}), or set GRADUS_MODELS to the folder that holds it` : 'check the path',
    path: 'model',
    kind: isId ? 'not_ready' : 'invalid',
  });
}

/** `models--org--name/snapshots/<commit>`, the commit being what refs/main says. */
function inHuggingFaceCache(id: string, environment: Environment): string | undefined {
  const home = environment.HF_HOME ?? join(homedir(), '.cache', 'huggingface');
  const model = join(environment.HF_HUB_CACHE ?? join(home, 'hub'), `models--${id.replaceAll('/', '--')}`);
  const main = join(model, 'refs', 'main');
  if (!existsSync(main)) return undefined;
  const snapshot = join(model, 'snapshots', readFileSync(main, 'utf8').trim());
  return existsSync(snapshot) ? snapshot : undefined;
}

function inModelsFolder(id: string, { GRADUS_MODELS: folder }: Environment): string | undefined {
  if (!folder) return undefined;
  return entry(join(folder, dirname(id)), basename(id)) ?? entry(folder, basename(id));
}

/** What is called `name` in a folder, letter case aside. */
function entry(folder: string, name: string): string | undefined {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const found =
    names.find((other) => other === name) ?? names.find((other) => other.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : join(folder, found);
}
