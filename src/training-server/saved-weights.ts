// Weights that clients saved: a folder for each, named after the address that Tinker's API gives it, tinker://MODEL/weights/NAME for example.
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { messageOf } from '../errors.ts';
import { renameOver, replaceFile } from '../runs/replace-file.ts';
import { Refusal } from './refusal.ts';

/** `weights` have the optimiser's state, `sampler_weights` what sampling needs, `external_weights` the files that other programs read. */
const weightsKinds = ['weights', 'sampler_weights', 'external_weights'] as const;
export type WeightsKind = (typeof weightsKinds)[number];

const description = z.object({
  base_model: z.string(),
  rank: z.int().min(1),
  train_mlp: z.boolean(),
  train_attn: z.boolean(),
  user_metadata: z.record(z.string(), z.unknown()).nullable(),
  created: z.string(),
  /** When they are deleted, as a date in ISO 8601; null for never. */
  expires: z.iso.datetime().nullable().default(null),
  /** Whether somebody said that others may read them. Whoever reaches the server can, in any case. */
  public: z.boolean().default(false),
});
export type WeightsDescription = z.infer<typeof description>;

export interface SavedWeights extends WeightsDescription {
  readonly path: string;
  readonly kind: WeightsKind;
  readonly folder: string;
}

const DESCRIPTION = 'tinker.json';
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._=@+-]*$/;
/** The ids of models: a session, and the number of the model in it. Names of folders leave out the colons. */
const MODEL = /^([0-9a-f-]{36}):train:(\d{1,9})$/;
const MODEL_FOLDER = /^([0-9a-f-]{36})-train-(\d{1,9})$/;

export class WeightsStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** The address of weights. */
  pathOf(model: string, kind: WeightsKind, name: string): string {
    return `tinker://${model}/${kind}/${name}`;
  }

  /** Lets `write` fill a folder, which then exists completely or not at all, whenever the process ends. Throws a `Refusal` if the name is taken. */
  async save(
    path: string,
    described: WeightsDescription,
    { overwrite, write }: { readonly overwrite: boolean; readonly write: (folder: string) => Promise<void> },
  ): Promise<void> {
    const { folder, model } = this.#place(path);
    await this.#removeExpired(model);
    const [partial, old] = [aside(folder, 'saving'), aside(folder, 'previous')];
    if (!overwrite && [folder, old].some(isComplete)) throw new Refusal(`there are weights at ${path} already`);
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial, { recursive: true });
    try {
      await write(partial);
      await writeFile(join(partial, DESCRIPTION), `${JSON.stringify(described, null, 2)}\n`);
    } catch (error) {
      await rm(partial, { recursive: true, force: true });
      throw error;
    }
    // A folder with something in it cannot be replaced in one step: between two, what was there is read from aside.
    if (isComplete(folder)) {
      await rm(old, { recursive: true, force: true });
      renameOver(folder, old);
    } else await rm(folder, { recursive: true, force: true });
    renameOver(partial, folder);
    await rm(old, { recursive: true, force: true });
  }

  /** Copies weights to another model, under the same kind and name. Returns their address. */
  async copy(path: string, model: string, changes: Pick<WeightsDescription, 'created' | 'expires'>): Promise<string> {
    const { folder, kind, path: _path, ...described } = await this.find(path);
    const copied = this.pathOf(model, kind, path.slice(path.lastIndexOf('/') + 1));
    const write = async (target: string) => await cp(folder, target, { recursive: true });
    await this.save(copied, { ...described, public: false, ...changes }, { overwrite: true, write });
    return copied;
  }

  /** Throws a `Refusal` for a text that cannot be the address of weights. */
  assertPath(path: string): void {
    this.#place(path);
  }

  /** Throws a `Refusal` if there are none, or no longer. */
  async find(path: string): Promise<SavedWeights> {
    const { folder: usual, kind } = this.#place(path);
    const folder = [usual, aside(usual, 'previous')].find(isComplete);
    if (folder === undefined) throw new Refusal(`there are no weights at ${path}`, 404);
    const described = await describedIn(folder, path);
    if (!isExpired(described)) return { ...described, path, kind, folder };
    await this.#delete(usual);
    throw new Refusal(`there are no weights at ${path} any more: they were kept until ${described.expires}`, 404);
  }

  /** Throws a `Refusal` if there are none. */
  async change(path: string, changes: Pick<Partial<WeightsDescription>, 'expires' | 'public'>): Promise<void> {
    const { folder, kind: _kind, path: _path, ...described } = await this.find(path);
    replaceFile(join(folder, DESCRIPTION), `${JSON.stringify({ ...described, ...changes }, null, 2)}\n`);
  }

  /** Throws a `Refusal` if there are none. */
  async remove(path: string): Promise<void> {
    const { folder } = this.#place(path);
    // What is damaged cannot be found, but can be deleted.
    if (!isComplete(folder)) await this.find(path);
    await this.#delete(folder);
  }

  /** The models that weights are there of. */
  async models(): Promise<string[]> {
    const names = await readdir(this.#root).catch(() => []);
    return names.flatMap((name) => {
      const [, session, number] = MODEL_FOLDER.exec(name) ?? [];
      return session === undefined ? [] : [`${session}:train:${number}`];
    });
  }

  /** All weights of a model, in the order in which they were saved, and their sizes in bytes. Those that cannot be read are left out. */
  async list(model: string): Promise<(SavedWeights & { readonly bytes: number })[]> {
    const found = [];
    // What cannot be the id of a model has no weights.
    for (const kind of MODEL.test(model) ? weightsKinds : []) {
      const names = (await readdir(this.#parent(model, kind)).catch(() => [])).map(nameOf);
      for (const name of new Set(names.filter((name) => NAME.test(name)))) {
        const saved = await this.#findWithSize(this.pathOf(model, kind, name)).catch(() => undefined);
        if (saved) found.push(saved);
      }
    }
    return found.sort((a, b) => a.created.localeCompare(b.created));
  }

  /** The files of weights, without their description. */
  async files({ folder }: Pick<SavedWeights, 'folder'>): Promise<{ readonly name: string; readonly bytes: number }[]> {
    const names = (await readdir(folder)).filter((name) => name !== DESCRIPTION).sort();
    return await Promise.all(names.map(async (name) => ({ name, bytes: (await stat(join(folder, name))).size })));
  }

  /** Deletes what was to be kept until now, and what servers left that were killed while they saved. */
  async tidy(): Promise<void> {
    for (const model of await this.models()) {
      await this.#removeExpired(model);
      for (const kind of weightsKinds) await removeLeftovers(this.#parent(model, kind));
    }
  }

  async #findWithSize(path: string): Promise<SavedWeights & { readonly bytes: number }> {
    const saved = await this.find(path);
    return { ...saved, bytes: (await this.files(saved)).reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  /** Whoever lists weights does not find those that have expired, and deletes them. */
  async #removeExpired(model: string): Promise<void> {
    await this.list(model);
  }

  async #delete(folder: string): Promise<void> {
    for (const each of [folder, aside(folder, 'previous')]) {
      // Without it there are no weights, even if the process ends before the rest is gone.
      await rm(join(each, DESCRIPTION), { force: true });
      await rm(each, { recursive: true, force: true });
    }
  }

  #parent(model: string, kind: WeightsKind): string {
    return dirname(this.#place(this.pathOf(model, kind, 'any')).folder);
  }

  #place(path: string): { readonly folder: string; readonly kind: WeightsKind; readonly model: string } {
    const [, model, named, name] = /^tinker:\/\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    const [, session, number] = MODEL.exec(model ?? '') ?? [];
    const kind = weightsKinds.find((each) => each === named);
    if (session === undefined || kind === undefined || !NAME.test(name!))
      throw new Refusal(`${JSON.stringify(path.slice(0, 300))} is not an address of weights on this server`);
    return { folder: join(this.#root, `${session}-train-${number}`, kind, name!), kind, model: model! };
  }
}

/** Where weights are while they are written, and while others take their place. No name of weights has these characters. */
const aside = (folder: string, why: 'saving' | 'previous') => join(dirname(folder), `.${basename(folder)}~${why}`);
const nameOf = (folder: string) => /^\.(.*)~previous$/.exec(folder)?.[1] ?? folder;
const isComplete = (folder: string) => existsSync(join(folder, DESCRIPTION));
const isExpired = ({ expires }: WeightsDescription) => expires !== null && Date.parse(expires) <= Date.now();

async function describedIn(folder: string, path: string): Promise<WeightsDescription> {
  try {
    return description.parse(JSON.parse(await readFile(join(folder, DESCRIPTION), 'utf8')));
  } catch (error) {
    throw new Refusal(`the weights at ${path} cannot be read, ${DESCRIPTION} is damaged: ${messageOf(error)}`);
  }
}

/** How long nobody writes to weights that a living server saves, in milliseconds. */
const LONG_AGO = 24 * 60 * 60_000;

async function removeLeftovers(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    if (!name.endsWith('~saving')) continue;
    const { mtimeMs } = await stat(join(parent, name));
    if (Date.now() - mtimeMs > LONG_AGO) await rm(join(parent, name), { recursive: true, force: true });
  }
}
