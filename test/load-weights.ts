// A model's parameters and rotary tables as tensors, for tests that build sessions of their own.
import { openModelFiles } from '../src/backends/model-files/model-files.ts';
import { RunTensors } from '../src/backends/native/run-tensors.ts';
import { ROTARY_COS, ROTARY_SIN, rotaryValues } from '../src/models/rotary-tables.ts';
import type { HostTensor } from '../src/runtime/tensor.ts';

export async function loadWeights(modelPath: string) {
  const files = await openModelFiles(modelPath);
  const { architecture } = files;
  const { config, parameters } = architecture;
  const memory = new RunTensors();
  const tensors = new Map<string, HostTensor<'float32'>>();
  for (const parameter of parameters) {
    const values = memory.create('float32', parameter.shape);
    await files.read(parameter, values.buffer.data);
    tensors.set(parameter.name, values);
  }
  await files.close();
  const { cos, sin } = rotaryValues(config, config.contextLength);
  const shape = [config.contextLength, config.headSize / 2];
  tensors.set(ROTARY_COS, memory.floats(shape, cos)).set(ROTARY_SIN, memory.floats(shape, sin));
  return { architecture, tensors, positions: config.contextLength, [Symbol.dispose]: () => memory[Symbol.dispose]() };
}
