// Attention for training: the completions of a group share the keys and values of their prompt, which are computed once.
//
// Sizes: U prompts of P tokens, each with G completions of C tokens; shorter ones are padded on the right. Rows of all activations
// are the prompts' tokens [U·P], then the completions' [U·G·C]. K key-value heads, each read by Q query heads; D head size.
import type { Tensor } from '../tensor/graph.ts';
import {
  add,
  concat,
  input,
  matmul,
  type RotaryTables,
  reshape,
  rotary,
  slice,
  softmax,
  transpose,
} from '../tensor/ops.ts';
import { type Dimension, plus, size, times } from '../tensor/shape.ts';
import type { Attention, ModelConfig } from './layers.ts';

export const U = size('U');
export const P = size('P');
export const G = size('G');
export const C = size('C');

const PROMPT_ROWS = times(U, P);
const COMPLETION_ROWS = times(times(U, G), C);
export const ROWS = plus(PROMPT_ROWS, COMPLETION_ROWS);

/** Graph inputs that tell which row may see which: 0 where it may, a large negative number where not. */
export interface PrefixMasks {
  /** int64 [U·P + U·G·C, 1]: each row's position in its own sequence. */
  positions: Tensor;
  /** [P, P]: a prompt's rows see themselves and what is before them. */
  promptCausal: Tensor;
  /** [C, C]: a completion's rows, likewise. */
  completionCausal: Tensor;
  /** [U, 1, 1, 1, 1, P]: a completion sees its prompt's tokens, not the padding. */
  promptPadding: Tensor;
}

export function prefixMasks(): PrefixMasks {
  return {
    positions: input('positions', 'int64', [ROWS, 1]),
    promptCausal: input('prompt_causal', 'float32', [P, P]),
    completionCausal: input('completion_causal', 'float32', [C, C]),
    promptPadding: input('prompt_padding', 'float32', [U, 1, 1, 1, 1, P]),
  };
}

export function prefixAttention(config: ModelConfig, masks: PrefixMasks, tables: RotaryTables): Attention {
  const { heads, keyValueHeads: K, headSize: D } = config;
  const Q = heads / K;
  const alpha = 1 / Math.sqrt(D);

  // Every row is a sequence of its own: ONNX Runtime takes none that is longer than the tables.
  const rotated = (x: Tensor, count: number) =>
    reshape(rotary(reshape(x, [ROWS, 1, count * D]), masks.positions, tables, count), [ROWS, count * D]);
  const promptPart = (x: Tensor) => slice(x, 0, 0, PROMPT_ROWS);
  const completionPart = (x: Tensor) => slice(x, 0, PROMPT_ROWS, ROWS);

  return (_, query, key, value) => {
    const [q, k] = [rotated(query, heads), rotated(key, K)];
    // [U, K, …, D]: everything that one key-value head takes part in lies together.
    const promptKeysOrValues = (x: Tensor) => transpose(reshape(promptPart(x), [U, P, K, D]), [0, 2, 1, 3]);
    const completionKeysOrValues = (x: Tensor) =>
      transpose(reshape(completionPart(x), [U, G, C, K, D]), [0, 3, 1, 2, 4]);
    const promptQuery = transpose(reshape(promptPart(q), [U, P, K, Q, D]), [0, 2, 3, 1, 4]);
    const completionQuery = transpose(reshape(completionPart(q), [U, G, C, K, Q, D]), [0, 3, 1, 4, 2, 5]);
    const [promptKey, promptValue] = [promptKeysOrValues(k), promptKeysOrValues(value)];
    const [ownKey, ownValue] = [completionKeysOrValues(k), completionKeysOrValues(value)];

    // Prompts attend to themselves.
    const promptScores = reshape(
      matmul(reshape(promptQuery, [U, K, times(Q, P), D]), promptKey, { transposeB: true, alpha }),
      [U, K, Q, P, P],
    );
    const promptWeights = reshape(softmax(add(promptScores, masks.promptCausal)), [U, K, times(Q, P), P]);
    const promptOutput = reshape(matmul(promptWeights, promptValue), [U, K, Q, P, D]);

    // Completions attend to their prompt and to themselves.
    const all: Dimension = times(times(G, Q), C);
    const toPrompt = matmul(reshape(completionQuery, [U, K, all, D]), promptKey, { transposeB: true, alpha });
    const toOwn = matmul(reshape(completionQuery, [U, K, G, times(Q, C), D]), ownKey, { transposeB: true, alpha });
    const scores = concat(
      [
        add(reshape(toPrompt, [U, K, G, Q, C, P]), masks.promptPadding),
        add(reshape(toOwn, [U, K, G, Q, C, C]), masks.completionCausal),
      ],
      -1,
    );
    const weights = softmax(scores);
    const onPrompt = reshape(slice(weights, -1, 0, P), [U, K, all, P]);
    const onOwn = reshape(slice(weights, -1, P, plus(P, C)), [U, K, G, times(Q, C), C]);
    const completionOutput = add(
      reshape(matmul(onPrompt, promptValue), [U, K, G, Q, C, D]),
      reshape(matmul(onOwn, ownValue), [U, K, G, Q, C, D]),
    );

    return concat(
      [
        reshape(transpose(promptOutput, [0, 3, 1, 2, 4]), [PROMPT_ROWS, heads * D]),
        reshape(transpose(completionOutput, [0, 2, 4, 1, 3, 5]), [COMPLETION_ROWS, heads * D]),
      ],
      0,
    );
  };
}
