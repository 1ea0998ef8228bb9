// Times sampling and the update, the two halves of a step, alone, and the matrix products of the update.
import type { NativeModelOptions } from '../src/backends/native/native-options.ts';
import { openWithAdapters } from './native-model.ts';
import { secondsOfProducts } from './products.ts';
import { alternating } from './sequences.ts';
import { median } from './watched.ts';

/** The worker's only argument, as JSON. */
export interface StepTask extends Required<Pick<NativeModelOptions, 'rolloutDtype' | 'threads'>> {
  readonly model: string;
  /** The sequences to learn from; as many completions of the same prompts and lengths are sampled. */
  readonly sequences: readonly { readonly promptIds: readonly number[]; readonly completionIds: readonly number[] }[];
  /** Steps that are timed, after one that is not. */
  readonly repeats: number;
}

/** What the worker prints: medians, in seconds. */
export interface StepTimes {
  readonly sample: number;
  readonly update: number;
  /** The time of ONNX Runtime alone for the products of the update, forward and backward, on pre-packed weights. */
  readonly products: number;
}

const { model: path, sequences, repeats, threads, rolloutDtype }: StepTask = JSON.parse(process.argv[2]!);
const model = await openWithAdapters(path, { threads, rolloutDtype });

const tokens = sequences[0]!.completionIds.length;
const requests = sequences.map(({ promptIds }, seed) => ({ promptIds, seed }));
const batch = alternating(sequences);
const seconds = async (run: () => Promise<unknown>) => {
  const times: number[] = [];
  for (let i = 0; i <= repeats; i++) {
    const began = performance.now();
    await run();
    times.push((performance.now() - began) / 1000);
  }
  return median(times.slice(1));
};
const sample = await seconds(() => model.policy().sample(requests, { maxTokens: tokens, stopIds: new Set() }));
const update = await seconds(() => model.update({ sequences: batch }, { learningRate: 1e-5 }));
const prompts = new Map(sequences.map(({ promptIds }) => [promptIds.join(), promptIds.length]));
const predicted = sequences.length * tokens;
const rows = predicted + [...prompts.values()].reduce((sum, length) => sum + length, 0);
const products = await secondsOfProducts(model.architecture, { rows, predicted, threads });
model.dispose();
console.log(JSON.stringify({ sample, update, products } satisfies StepTimes));
