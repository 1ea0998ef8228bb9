// Runs graphs in ONNX Runtime on plain values, for tests that hold it against the interpreter.
import { allocate } from '../src/runtime/buffers.ts';
import { createSession, type SessionOptions } from '../src/runtime/session.ts';
import { type Tensor as BoundTensor, tensor } from '../src/runtime/tensor.ts';
import type { ElementType, Tensor } from '../src/tensor/graph.ts';
import { inputsOf } from '../src/tensor/graph.ts';
import type { Value } from '../src/tensor/interpret.ts';
import { type LoweringOptions, lowerToOnnx } from '../src/tensor/onnx.ts';
import { evaluateShape, type Sizes } from '../src/tensor/shape.ts';

/** Runs a graph; `sizes` are the named sizes of this run. */
export function runOnnx(outputs: readonly Tensor[], inputs: Record<string, Value>, sizes: Sizes = {}): Value[] {
  using graph = compileOnnx(outputs);
  return graph.run(inputs, sizes);
}

/** A graph in one session, to run several times. */
export function compileOnnx(
  outputs: readonly Tensor[],
  { packing, ...options }: SessionOptions & Pick<LoweringOptions, 'packing'> = {},
) {
  const named = Object.fromEntries(outputs.map((output, index) => [`output ${index}`, output]));
  const lowering = packing ?? (options.operators === undefined ? undefined : 'none');
  const model = lowerToOnnx(named, lowering && { packing: lowering });
  const session = createSession(model, { threads: 1, ...options });
  const types = inputsOf(outputs);
  return {
    run(inputs: Record<string, Value>, sizes: Sizes = {}): Value[] {
      using stack = new DisposableStack();
      const binding = stack.use(session.bind());
      // An input that the optimiser found unneeded is none of the session's.
      for (const name of session.inputs) {
        binding.input(name, bound(stack, types.get(name)!.type, inputs[name]!.shape, inputs[name]!.data));
      }
      const results = Object.entries(named).map(([name, { type, shape }]) => {
        const result = bound(stack, type, evaluateShape(shape, sizes));
        binding.output(name, result);
        return result;
      });
      binding.runSync();
      return results.map(({ shape, buffer }) => ({ shape, data: Float64Array.from(buffer.data, Number) }));
    },
    [Symbol.dispose]: () => session.dispose(),
  };
}

function bound(
  stack: DisposableStack,
  type: ElementType,
  shape: readonly number[],
  data?: Float64Array,
): BoundTensor<ElementType> {
  const length = shape.reduce((product, size) => product * size, 1);
  const buffer = stack.use(allocate(type, length));
  for (const [i, number] of data?.entries() ?? []) {
    buffer.data[i] = type === 'int64' ? BigInt(number) : number;
  }
  return stack.use(tensor(buffer, shape));
}
