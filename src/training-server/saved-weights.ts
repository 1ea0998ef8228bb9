// Weights that clients saved: a folder for each, named after the address that Tinker's API gives it, tinker://MODEL/weights/NAME or …/sampler_weights/NAME.
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { Refusal } from './refusal.ts';

/** `weights` have the optimiser's state, `sampler_weights` only what sampling needs. */
export type WeightsKind = 'weights' | 'sampler_weights';

const description = z.object({
  base_model: z.string(),
  rank: z.int().min(1),
  train_mlp: z.boolean(),
  train_attn: z.boolean(),
  user_metadata: z.record(z.string(), z.unknown()).nullable(),
  created: z.string(),
});
export type WeightsDescription = z.infer<typeof description>;

export interface SavedWeights extends WeightsDescription {
  readonly path: string;
  readonly folder: string;
}

const DESCRIPTION = 'tinker.json';
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._=@+-]*$/;
/** The ids of models: a session, and the number of the model in it. Names of folders leave out the colons. */
const MODEL = /^([0-9a-f-]{36}):train:(\d{1,9})$/;

export class WeightsStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** The address of weights. */
  pathOf(model: string, kind: WeightsKind, name: string): string {
    return `tinker://${model}/${kind}/${name}`;
  }

  /** Lets `write` fill a folder, which then exists completely or not at all. Throws a `Refusal` if the name is taken. */
  async save(
    path: string,
    described: WeightsDescription,
    { overwrite, write }: { readonly overwrite: boolean; readonly write: (folder: string) => Promise<void> },
  ): Promise<void> {
    const folder = this.#folder(path);
    if (!overwrite && existsSync(folder)) throw new Refusal(`there are weights at ${path} already`);
    // No name of weights begins with a dot.
    const partial = join(dirname(folder), `.${basename(folder)}`);
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial, { recursive: true });
    await write(partial);
    await writeFile(join(partial, DESCRIPTION), `${JSON.stringify(described, null, 2)}\n`);
    await rm(folder, { recursive: true, force: true });
    await rename(partial, folder);
  }

  /** Throws a `Refusal` for a text that cannot be the address of weights. */
  assertPath(path: string): void {
    this.#folder(path);
  }

  /** Throws a `Refusal` if there are none. */
  async find(path: string): Promise<SavedWeights> {
    const folder = this.#folder(path);
    const text = await readFile(join(folder, DESCRIPTION), 'utf8').catch(() => undefined);
    if (text === undefined) throw new Refusal(`there are no weights at ${path}`, 404);
    return { ...description.parse(JSON.parse(text)), path, folder };
  }

  /** Throws a `Refusal` if there are none. */
  async remove(path: string): Promise<void> {
    const { folder } = await this.find(path);
    await rm(folder, { recursive: true });
  }

  /** All weights of a model, and their sizes in bytes. */
  async list(model: string): Promise<(SavedWeights & { readonly kind: WeightsKind; readonly bytes: number })[]> {
    const found = [];
    for (const kind of ['weights', 'sampler_weights'] as const) {
      const folder = dirname(this.#folder(this.pathOf(model, kind, 'any')));
      for (const name of (await readdir(folder).catch(() => [])).sort()) {
        if (!NAME.test(name) || !existsSync(join(folder, name, DESCRIPTION))) continue;
        const saved = await this.find(this.pathOf(model, kind, name));
        found.push({ ...saved, kind, bytes: await sizeOf(saved.folder) });
      }
    }
    return found;
  }

  #folder(path: string): string {
    const [, model, kind, name] = /^tinker:\/\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    const [, session, number] = MODEL.exec(model ?? '') ?? [];
    const isKind = kind === 'weights' || kind === 'sampler_weights';
    if (session === undefined || !isKind || !NAME.test(name!))
      throw new Refusal(`${JSON.stringify(path.slice(0, 300))} is not an address of weights on this server`);
    return join(this.#root, `${session}-train-${number}`, kind, name!);
  }
}

async function sizeOf(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
