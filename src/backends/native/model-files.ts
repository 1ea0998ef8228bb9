// A model on disk: a Hugging Face folder with safetensors, or a GGUF file, behind one way to read its weights.
import { type FileHandle, open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { GradusError, messageOf } from '../../errors.ts';
import type { ByteSource } from '../../formats/byte-source.ts';
import { openGguf } from '../../formats/gguf.ts';
import { ggufLlamaConfig } from '../../formats/gguf-config.ts';
import { huggingFaceName, unpermuteRows } from '../../formats/gguf-names.ts';
import { openSafetensors } from '../../formats/safetensors.ts';
import type { TensorFile } from '../../formats/tensor-file.ts';
import { type Architecture, architectureOf } from '../../models/families.ts';
import { EMBEDDING, OUTPUT, type ParameterSpec } from '../../models/layers.ts';
import { fileError } from './file-error.ts';

export interface ModelFiles {
  readonly architecture: Architecture;
  /** Decodes a parameter as float32 into memory of its size. */
  read(parameter: ParameterSpec, into: Float32Array): Promise<void>;
  close(): Promise<void>;
}

/** Opens a folder with config.json and weights, or a .gguf file. Whatever is missing, damaged or unsupported is one clear error. */
export async function openModelFiles(path: string): Promise<ModelFiles> {
  const kind = await stat(path).catch(() => undefined);
  if (!kind)
    throw new GradusError('MODEL_NOT_FOUND', `no model at ${path}`, {
      path: 'model',
      hint: 'give a folder with config.json and weights, or a .gguf file',
    });
  if (!kind.isDirectory()) return openWeights(path, undefined);
  const files = (await readdir(path)).sort();
  const weights =
    files.find((name) => name === 'model.safetensors') ??
    files.find((name) => /\.(safetensors|gguf)$/.test(name) && !name.startsWith('adapter'));
  if (!weights) {
    throw new GradusError('MODEL_WITHOUT_WEIGHTS', `${path} holds no weights`, {
      path: 'model',
      hint: 'it needs a model.safetensors or a .gguf file',
    });
  }
  if (files.includes('model.safetensors.index.json')) {
    throw new GradusError(
      'MODEL_UNSUPPORTED',
      `${path} keeps its weights in several files, which is not supported yet`,
      { path: 'model' },
    );
  }
  const config = files.includes('config.json') ? await readConfig(join(path, 'config.json')) : undefined;
  return openWeights(join(path, weights), config);
}

async function readConfig(path: string): Promise<Record<string, unknown>> {
  try {
    const config: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (config === null || typeof config !== 'object' || Array.isArray(config)) throw new Error('it holds no object');
    return config as Record<string, unknown>;
  } catch (error) {
    throw new GradusError('MODEL_CONFIG_INVALID', `${path} cannot be read: ${messageOf(error)}`, {
      path: 'model',
      hint: 'fetch the model again',
    });
  }
}

async function openWeights(path: string, config: Record<string, unknown> | undefined): Promise<ModelFiles> {
  const handle = await open(path);
  try {
    const source = fileSource(handle, (await handle.stat()).size);
    const isGguf = path.endsWith('.gguf');
    const file = isGguf ? await openGguf(source) : await openSafetensors(source);
    if (!isGguf && !config) {
      throw new GradusError('MODEL_CONFIG_INVALID', `${path} has no config.json beside it`, {
        path: 'model',
        hint: 'give the folder that holds both',
      });
    }
    const architecture = architectureOf(config ?? { ...ggufLlamaConfig(file) });
    const reader = isGguf ? ggufReader(file, architecture) : safetensorsReader(file);
    for (const parameter of architecture.parameters) checkShape(parameter, reader.shapeOf(parameter.name), path);
    return {
      architecture,
      async read(parameter, into) {
        try {
          await reader.read(parameter, into);
        } catch (error) {
          throw fileError(error, path);
        }
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw fileError(error, path);
  }
}

interface WeightReader {
  shapeOf(name: string): readonly number[] | undefined;
  read(parameter: ParameterSpec, into: Float32Array): Promise<void>;
}

function safetensorsReader(file: TensorFile): WeightReader {
  return {
    shapeOf: (name) => file.tensors.get(name)?.shape,
    read: async ({ name }, into) => void (await file.readFloat32(name, into)),
  };
}

/** GGUF calls parameters otherwise, and keeps the rows of query and key projections in another order. */
function ggufReader(file: TensorFile, { config }: Architecture): WeightReader {
  const stored = new Map<string, string>();
  for (const name of file.tensors.keys()) stored.set(huggingFaceName(name) ?? name, name);
  const permuted = (name: string) =>
    /\.q_proj\./.test(name) ? config.heads : /\.k_proj\./.test(name) ? config.keyValueHeads : undefined;
  return {
    shapeOf: (name) => file.tensors.get(stored.get(name) ?? name)?.shape,
    async read({ name, shape }, into) {
      const heads = permuted(name);
      if (heads === undefined) await file.readFloat32(stored.get(name)!, into);
      else unpermuteRows(await file.readFloat32(stored.get(name)!), shape[0]!, shape[1] ?? 1, heads, into);
    },
  };
}

function checkShape({ name, shape }: ParameterSpec, stored: readonly number[] | undefined, path: string): void {
  if (stored && String(stored) === String(shape)) return;
  const what = stored ? `has shape [${stored}] where config.json asks for [${shape}]` : 'is missing';
  const hint =
    name === OUTPUT
      ? `if the output layer is ${EMBEDDING}, set tie_word_embeddings in config.json`
      : 'config.json and weights do not belong together';
  throw new GradusError('MODEL_WEIGHTS_MISMATCH', `${path}: ${name} ${what}`, { path: 'model', hint });
}

function fileSource(handle: FileHandle, size: number): ByteSource {
  return {
    size,
    async read(offset, length) {
      const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - offset)));
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, offset);
      return bytes.subarray(0, bytesRead);
    },
  };
}
