// llama.cpp's side of the benchmark of generation, through node-llama-cpp: all completions of a batch at once, each a sequence of its own.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { median } from '../watched.ts';
import type { GenerationLine, GenerationTask } from './generation.ts';

/** The part of node-llama-cpp that is used here, since the package is not a dependency. */
interface Library {
  getLlama(options: { gpu: false; build: 'never'; maxThreads: number }): Promise<{
    loadModel(options: { modelPath: string }): Promise<{
      createContext(options: ContextOptions): Promise<{ getSequence(): Sequence; dispose(): Promise<void> }>;
    }>;
  }>;
}

interface ContextOptions {
  readonly sequences: number;
  readonly contextSize: number;
  readonly batchSize: number;
  readonly threads: number;
}

interface Sequence {
  evaluate(tokens: readonly number[], options: Readonly<Record<string, number | boolean>>): AsyncIterable<number>;
}

const given: GenerationTask & { readonly library: string } = JSON.parse(process.argv[2]!);
const { promptIds, tokens, batches, threads, repeats } = given;

const entry = createRequire(join(given.library, 'package.json')).resolve('node-llama-cpp');
const { getLlama }: Library = await import(pathToFileURL(entry).href);
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: threads });
const model = await llama.loadModel({ modelPath: given.model });

/** Reads the prompt and samples; end tokens do not stop it. */
async function complete(sequence: Sequence): Promise<void> {
  const unfiltered = { temperature: 1, topK: 0, topP: 1, minP: 0, yieldEogToken: true };
  let sampled = 0;
  for await (const _ of sequence.evaluate(promptIds, unfiltered)) if (++sampled === tokens) break;
  if (sampled !== tokens) throw new Error('a completion ended early');
}

for (const batch of batches) {
  // Room to spare, so that nothing is shifted out.
  const contextSize = 2 * (promptIds.length + tokens);
  const sample = async () => {
    const context = await model.createContext({ sequences: batch, contextSize, batchSize: 512, threads });
    const sequences = Array.from({ length: batch }, () => context.getSequence());
    const began = performance.now();
    await Promise.all(sequences.map(complete));
    const seconds = (performance.now() - began) / 1000;
    await context.dispose();
    return seconds;
  };
  await sample();
  const seconds: number[] = [];
  for (let i = 0; i < repeats; i++) seconds.push(await sample());
  console.log(JSON.stringify({ batch, seconds: median(seconds) } satisfies GenerationLine));
}
process.exit();
