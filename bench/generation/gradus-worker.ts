// Our side of the benchmark of generation: samples batches of completions and prints a line for each.
import type { NativeModelOptions } from '../../src/backends/native/native-options.ts';
import { openWithAdapters } from '../native-model.ts';
import { median } from '../watched.ts';
import type { GenerationLine, GenerationTask } from './generation.ts';

type Task = GenerationTask & Pick<NativeModelOptions, 'rolloutDtype'>;
const { model: path, promptIds, tokens, batches, repeats, ...options }: Task = JSON.parse(process.argv[2]!);

const model = await openWithAdapters(path, options);
const sample = (batch: number) =>
  model.policy().sample(
    Array.from({ length: batch }, (_, seed) => ({ promptIds, seed })),
    { maxTokens: tokens, stopIds: new Set() },
  );
for (const batch of batches) {
  await sample(batch);
  const seconds: number[] = [];
  for (let i = 0; i < repeats; i++) {
    const began = performance.now();
    const completions = await sample(batch);
    seconds.push((performance.now() - began) / 1000);
    if (completions.some(({ ids }) => ids.length !== tokens)) throw new Error('a completion ended early');
  }
  console.log(JSON.stringify({ batch, seconds: median(seconds) } satisfies GenerationLine));
}
model.dispose();
