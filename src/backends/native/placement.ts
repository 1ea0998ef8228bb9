// Where the weights lie that stay as they are: in this process's memory, or in a device's, once for all sessions on it.
import type { ElementType } from '../../runtime/buffers.ts';
import type { Device } from '../../runtime/device.ts';
import { DeviceTensor } from '../../runtime/device-tensor.ts';
import { type AnyTensor, Tensor } from '../../runtime/tensor.ts';
import type { RunTensors } from './run-tensors.ts';

/** Moves tensors and their memory to where sessions of a device read them. */
export function place(tensors: ReadonlyMap<string, Tensor>, device: Device): ReadonlyMap<string, AnyTensor> {
  if (device === 'cpu') return tensors;
  const placed = new Map<string, AnyTensor>();
  for (const [name, tensor] of tensors) {
    placed.set(name, DeviceTensor.of(device, tensor));
    free(tensor);
  }
  return placed;
}

/** The numbers of a tensor, wherever it lies; a copy lasts as long as the run. */
export function numbersOf<E extends ElementType>(tensor: AnyTensor<E>, run: RunTensors): Tensor<E> {
  if (tensor instanceof Tensor) return tensor;
  const here = run.create(tensor.type, tensor.shape);
  (tensor as DeviceTensor<E>).read(here);
  return here;
}

/** Ends a tensor with its memory. */
export function free(tensor: AnyTensor): void {
  tensor.dispose();
  if (tensor instanceof Tensor) tensor.buffer.dispose();
}
