// The context length in a model's config.json, for systems that run outside Gradus.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GradusError, isObject } from '../../errors.ts';

export type ModelJson = Readonly<Record<string, unknown>>;

/** The config.json of a model's folder; empty if there is none. */
export function readModelJson(folder: string): ModelJson {
  const file = join(folder, 'config.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}

/** The length for its language model if the model has other parts. Throws `MODEL_CONFIG_INVALID`. */
export function contextOf({ max_position_embeddings: own, text_config: language }: ModelJson, folder: string): number {
  const length = own ?? (isObject(language) ? language.max_position_embeddings : undefined);
  if (typeof length === 'number') return length;
  throw new GradusError('MODEL_CONFIG_INVALID', `${join(folder, 'config.json')} does not give the context length`, {
    hint: 'use a model folder with max_position_embeddings in its config.json',
    path: 'model',
  });
}
