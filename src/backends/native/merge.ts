// A model's folder out of a checkpoint: the base's weights with the adapter merged in, or those that full fine-tuning saved.
import { existsSync } from 'node:fs';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bytesSource } from '../../formats/byte-source.ts';
import { encodeBfloat16 } from '../../formats/element-types.ts';
import { openSafetensors, safetensorsHeader } from '../../formats/safetensors.ts';
import type { ParameterSpec } from '../../models/layers.ts';
import { type LoraAdapter, loraAdapters, peftName } from '../../models/lora.ts';
import { volume } from '../../tensor/shape.ts';
import { ADAPTER_CONFIG, ADAPTER_WEIGHTS, readAdapterSettings, writtenConfig } from './checkpoint.ts';
import { fileError } from './file-error.ts';
import { openModelFiles } from './model-files.ts';

export type WrittenDtype = 'float32' | 'bfloat16';

export interface MergeOptions {
  /** The base: a folder with config.json and weights, or a .gguf file. */
  readonly modelPath: string;
  /** A folder with an adapter in PEFT's format, or with all weights of a model. */
  readonly checkpoint: string;
  /** A folder that exists. */
  readonly directory: string;
  readonly dtype: WrittenDtype;
}

/** Writes model.safetensors, a tensor at a time, and config.json. Returns how many parameters that are. */
export async function writeMergedModel({ modelPath, checkpoint, directory, dtype }: MergeOptions): Promise<number> {
  const adapted = existsSync(join(checkpoint, ADAPTER_CONFIG));
  const files = await openModelFiles(adapted ? modelPath : checkpoint);
  const target = await open(join(directory, 'model.safetensors'), 'w');
  try {
    const { parameters, json } = files.architecture;
    const merge = adapted ? await openAdapter(checkpoint, parameters) : undefined;
    const described = parameters.map((spec) => ({ ...spec, dtype: dtype === 'float32' ? 'F32' : 'BF16' }) as const);
    const { bytes, order } = safetensorsHeader(described, { format: 'pt' });
    await target.writeFile(bytes);
    let count = 0;
    for (const parameter of order) {
      const values = new Float32Array(volume(parameter.shape));
      await files.read(parameter, values);
      await merge?.(parameter.name, values);
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

/** Adds to a parameter what the adapter of a folder adds to its layer. */
async function openAdapter(folder: string, parameters: readonly ParameterSpec[]) {
  const path = join(folder, ADAPTER_WEIGHTS);
  const adapters = loraAdapters(parameters, await readAdapterSettings(folder));
  const file = await openSafetensors(bytesSource(await readFile(path)));
  const read = (name: string) =>
    file.readFloat32(peftName(name)).catch((error) => {
      throw fileError(error, path);
    });
  return async (parameter: string, weight: Float32Array) => {
    const adapter = adapters.get(parameter.replace(/\.weight$/, ''));
    if (!adapter || !parameter.endsWith('.weight')) return;
    addProduct(weight, adapter, await read(adapter.a.name), await read(adapter.b.name));
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
