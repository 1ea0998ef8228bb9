// The weights that are not trained: in the format of the model's file if our custom operators can read it, else in float32; and rounded copies
// for sampling with ONNX Runtime's operators.
import type { Architecture } from '../../models/families.ts';
import { outputName } from '../../models/layers.ts';
import { packedName, type Quantization, quantize, quantizedShapes, scalesName } from '../../models/quantized.ts';
import { rotaryValues } from '../../models/rotary-tables.ts';
import { formatInMemory, storedShape } from '../../models/stored-weights.ts';
import type { TrainedParameters } from '../../models/trained-parameters.ts';
import { allocate } from '../../runtime/buffers.ts';
import type { Device } from '../../runtime/device.ts';
import { type AnyTensor, type HostTensor, tensor } from '../../runtime/tensor.ts';
import type { StorageFormat } from '../../tensor/graph.ts';
import { volume } from '../../tensor/shape.ts';
import type { ModelFiles } from '../model-files/model-files.ts';
import { place, valuesOnHost } from './placement.ts';
import { RunTensors } from './run-tensors.ts';

export interface FrozenWeights {
  /** By name; the rotary tables are among them. */
  readonly tensors: ReadonlyMap<string, AnyTensor>;
  /** The storage formats of tensors that are bytes, uint8 [rows, bytes of a row], by name. */
  readonly asStored: ReadonlyMap<string, StorageFormat>;
}

export async function readFrozenWeights(
  files: ModelFiles,
  { own }: TrainedParameters,
  { device, customOperators }: { readonly device: Device; readonly customOperators: boolean },
): Promise<FrozenWeights> {
  const tensors = new Map<string, HostTensor>();
  const asStored = new Map<string, StorageFormat>();
  for (const parameter of files.architecture.parameters) {
    if (own.includes(parameter)) continue;
    const { name, shape } = parameter;
    const format = formatInMemory(parameter, customOperators);
    if (format) {
      const bytes = newTensor('uint8', storedShape([shape[0]!, shape[1]!], format));
      await files.readStored(parameter, bytes.buffer.data);
      tensors.set(name, bytes);
      asStored.set(name, format);
    } else {
      const values = newTensor('float32', shape);
      await files.read(parameter, values.buffer.data);
      tensors.set(name, values);
    }
  }
  addRotaryTables(tensors, files.architecture);
  return { tensors: place(tensors, device), asStored };
}

function addRotaryTables(tensors: Map<string, HostTensor>, { config }: Architecture): void {
  for (const [name, values] of rotaryValues(config, config.contextLength)) {
    const table = newTensor('float32', [config.contextLength, config.headSize / 2]);
    table.buffer.data.set(values);
    tensors.set(name, table);
  }
}

/** Rounded copies of all frozen matrices, as `quantizedMatmul` reads them. */
export function quantizeWeights(
  { config, parameters }: Architecture,
  frozen: FrozenWeights,
  format: Quantization,
  device: Device,
): ReadonlyMap<string, AnyTensor> {
  const rounded = new Map<string, HostTensor>();
  for (const { name, shape, kind } of parameters) {
    if (!frozen.tensors.has(name) || (kind !== 'linear' && name !== outputName(config))) continue;
    const size = [shape[0]!, shape[1]!] as const;
    const shapes = quantizedShapes(size, format);
    const packed = newTensor('uint8', shapes.packed);
    const scales = newTensor('float32', shapes.scales);
    using run = new RunTensors();
    quantize(floatsOf(frozen, name, run), size, format, { packed: packed.buffer.data, scales: scales.buffer.data });
    rounded.set(packedName(name), packed).set(scalesName(name), scales);
  }
  return place(rounded, device);
}

/** A weight's numbers, which are released with `run` unless they are its own. */
function floatsOf({ tensors, asStored }: FrozenWeights, name: string, run: RunTensors): Float32Array {
  const { data } = valuesOnHost(tensors.get(name) as AnyTensor<'float32' | 'uint8'>, run).buffer;
  if (data instanceof Float32Array) return data;
  const { decode, blockBytes, blockElements } = asStored.get(name)!;
  const numbers = new Float32Array((data.length / blockBytes) * blockElements);
  decode(data, numbers);
  return numbers;
}

function newTensor<E extends 'float32' | 'uint8'>(type: E, shape: readonly number[]): HostTensor<E> {
  return tensor(allocate(type, volume(shape)), shape);
}
