// The graph that training runs: log-probabilities of completion tokens, as an expression that losses build on.
import type { Tensor } from '../tensor/graph.ts';
import {
  add,
  concat,
  exp,
  full,
  gatherRows,
  input,
  logSumExp,
  matmul,
  mul,
  reduceSum,
  reshape,
  stopGradient,
  sub,
} from '../tensor/ops.ts';
import { size, times } from '../tensor/shape.ts';
import type { Architecture } from './families.ts';
import { createLayers, EMBEDDING, outputName } from './layers.ts';
import type { LoraAdapters } from './lora.ts';
import { C, G, prefixAttention, prefixMasks, ROWS, U } from './prefix-attention.ts';
import { rotaryInputs } from './rotary-tables.ts';

/** Tokens that are trained on, over all completions. */
const T = size('T');

export interface TrainingGraph {
  /** [U·G, C]: log-probability of each completion token; 0 where it is not trained on. */
  logprobs: Tensor;
  /** [U·G, C]: entropy of the distribution that each trained token was drawn from, in nats; no gradient is meant to flow. */
  entropy: Tensor;
}

export interface TrainingGraphOptions {
  adapters?: LoraAdapters;
  /** See `LayerOptions`. */
  recompute?: boolean;
  /** How likely an adapter does not see a number. @default 0: it sees all, as where nothing is trained */
  dropout?: number;
  /** Divides the logits, as it did when sampling. */
  temperature: number;
  /** Longest position plus one that the rotary tables hold. */
  positions: number;
}

/**
 * Inputs beside parameters, masks and rotary tables:
 * - `ids` int64 [U·P + U·G·C]: all tokens, prompts first;
 * - `sources` int64 [T]: the row that predicts each trained token;
 * - `targets` int64 [T]: the trained tokens;
 * - `dropout_rows` [U·P + U·G·C, 1], and `dropoutColumns(layer)` [1, in] for each adapter, if there is dropout;
 * - `places` int64 [U, G, C]: for each completion token its index among the trained ones, T where it is not trained on.
 */
export function trainingGraph({ family, config }: Architecture, options: TrainingGraphOptions): TrainingGraph {
  const { dropout = 0 } = options;
  const tables = rotaryInputs(config, options.positions);
  const layers = createLayers({
    attention: prefixAttention(config, prefixMasks(), tables),
    ...(options.adapters && { adapters: options.adapters }),
    ...(options.recompute && { recompute: true }),
    ...(dropout > 0 && { dropout: { probability: dropout, rows: input('dropout_rows', 'float32', [ROWS, 1]) } }),
  });
  const embedding = layers.parameter(EMBEDDING, [config.vocabularySize, config.hiddenSize]);
  const embedded = gatherRows(embedding, input('ids', 'int64', [ROWS]));
  const hidden = family.body(config, embedded, layers);

  // Only rows that predict a trained token reach the output layer, by far the widest.
  const predicting = gatherRows(hidden, input('sources', 'int64', [T]));
  const output = layers.parameter(outputName(config), [config.vocabularySize, config.hiddenSize]);
  const alpha = 1 / options.temperature;
  const logits = matmul(predicting, output, { transposeB: true, alpha });
  const total = logSumExp(logits);
  // The targets' logits are computed a second time, from their own rows of the output layer: cheaper than to pick them
  // from all logits, whose gradient would then have to be scattered into a matrix as wide as the vocabulary.
  const targetRows = gatherRows(output, input('targets', 'int64', [T]));
  const targetLogits = mul(reduceSum(mul(predicting, targetRows), { axes: [-1], keepDimensions: true }), alpha);
  // A product of rows and columns adds up what it multiplies at once: no third matrix as wide as the vocabulary.
  const { vocabularySize } = config;
  const mean = matmul(
    reshape(exp(sub(logits, total)), [T, 1, vocabularySize]),
    reshape(logits, [T, vocabularySize, 1]),
  );
  const entropy = sub(total, reshape(mean, [T, 1]));
  // Waits for the entropy: the logits would otherwise be kept for it beyond their gradient.
  const logprobs = sub(targetLogits, add(total, mul(stopGradient(entropy), 0)));

  const places = input('places', 'int64', [U, G, C]);
  const spread = (perToken: Tensor) =>
    reshape(gatherRows(concat([reshape(perToken, [T]), full(0, [1])], 0), places), [times(U, G), C]);
  return { logprobs: spread(logprobs), entropy: spread(entropy) };
}
