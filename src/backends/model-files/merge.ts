// Writes a checkpoint as a complete model: the base with the adapter merged in, or the weights of full fine-tuning.
import { existsSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeBfloat16 } from '../../formats/element-types.ts';
import { safetensorsHeader } from '../../formats/safetensors.ts';
import { ADAPTER_CONFIG, ADAPTER_WEIGHTS } from '../../hub/adapter-files.ts';
import type { ParameterSpec } from '../../models/layers.ts';
import { type LoraAdapter, loraAdapters } from '../../models/lora.ts';
import { peftName } from '../../models/peft.ts';
import { volume } from '../../tensor/shape.ts';
import { openModelFiles } from './model-files.ts';
import { openTensorFile } from './open-tensor-file.ts';
import { MODEL_WEIGHTS, readAdapterSettings, TRAINED_WEIGHTS, writtenConfig } from './saved-weights.ts';

export type WrittenDtype = 'float32' | 'bfloat16';

export interface MergeOptions {
  /** The base model: a folder with config.json and weights, or a .gguf file. */
  readonly modelPath: string;
  /** A folder with an adapter in PEFT's format, or with all or some weights of a model. */
  readonly checkpoint: string;
  /** Where to write; the folder must exist. */
  readonly directory: string;
  readonly dtype: WrittenDtype;
}

/** Writes model.safetensors, tensor by tensor, and config.json. Returns the number of parameters. */
export async function writeMergedModel({ modelPath, checkpoint, directory, dtype }: MergeOptions): Promise<number> {
  const isWhole = existsSync(join(checkpoint, MODEL_WEIGHTS));
  const files = await openModelFiles(isWhole ? checkpoint : modelPath);
  const target = await open(join(directory, 'model.safetensors'), 'w');
  try {
    const { parameters, json } = files.architecture;
    await using trained = isWhole ? undefined : await openTrained(checkpoint, parameters);
    const described = parameters.map((spec) => ({ ...spec, dtype: dtype === 'float32' ? 'F32' : 'BF16' }) as const);
    const { bytes, order } = safetensorsHeader(described, { format: 'pt' });
    await target.writeFile(bytes);
    let count = 0;
    for (const parameter of order) {
      const values = new Float32Array(volume(parameter.shape));
      await files.read(parameter, values);
      await trained?.apply(parameter.name, values);
      const { buffer, byteOffset, byteLength } = dtype === 'float32' ? values : encodeBfloat16(values);
      await target.writeFile(new Uint8Array(buffer, byteOffset, byteLength));
      count += values.length;
    }
    await target.sync();
    const config = writtenConfig(json, dtype);
    await writeFile(join(directory, 'config.json'), `${JSON.stringify(config, null, 2)}\n`);
    return count;
  } finally {
    await Promise.all([files.close(), target.close()]);
  }
}

/** Opens what turns a base parameter into the trained one, in place: by replacing it, or by adding its adapter's product. */
async function openTrained(folder: string, parameters: readonly ParameterSpec[]) {
  const adapted = existsSync(join(folder, ADAPTER_CONFIG));
  const path = join(folder, adapted ? ADAPTER_WEIGHTS : TRAINED_WEIGHTS);
  const adapters = adapted
    ? loraAdapters(parameters, await readAdapterSettings(folder))
    : new Map<string, LoraAdapter>();
  const file = await openTensorFile(path);
  const stored = adapted ? peftName : (name: string) => name;
  const read = (name: string, into?: Float32Array) => file.readFloat32(stored(name), into);
  return {
    async apply(parameter: string, weight: Float32Array) {
      if (file.tensors.has(stored(parameter))) await read(parameter, weight);
      const adapter = parameter.endsWith('.weight') && adapters.get(parameter.replace(/\.weight$/, ''));
      if (adapter) addProduct(weight, adapter, await read(adapter.a.name), await read(adapter.b.name));
    },
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  };
}

/** weight [out, in] += scale · B A */
function addProduct(weight: Float32Array, { a, b, scale }: LoraAdapter, down: Float32Array, up: Float32Array): void {
  const [rank, inner] = a.shape;
  const row = new Float64Array(inner);
  for (let out = 0; out < b.shape[0]; out++) {
    row.fill(0);
    for (let r = 0; r < rank; r++) {
      const factor = scale * up[out * rank + r]!;
      for (let i = 0; i < inner; i++) row[i]! += factor * down[r * inner + i]!;
    }
    for (let i = 0; i < inner; i++) weight[out * inner + i]! += row[i]!;
  }
}
