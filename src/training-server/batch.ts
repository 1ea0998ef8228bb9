// Examples as clients send them, as the sequences that the engine trains on: input tokens, and for each of them a target with its numbers.
import type { TokenBatch } from '../backends/native/lora-models/lora-model.ts';
import type { TokenSequence } from '../backends/native/training/objective.ts';
import { type Loss, lossNamed } from './losses.ts';
import { Refusal } from './refusal.ts';
import type { Datum, ModelInput, PassInput, SentTensor } from './requests.ts';

/** The most examples of one request. */
const MOST_EXAMPLES = 16_384;

/** The tokens of an input. Throws a `Refusal` for parts that are not text. */
export function tokensOf({ chunks }: ModelInput): number[] {
  return chunks.flatMap((chunk) => {
    if (chunk.type === 'encoded_text') return chunk.tokens;
    throw new Refusal(`a model input has a part of type ${chunk.type}: this model reads only text`);
  });
}

/** Throws a `Refusal`. */
export function batchOf({ data, loss_fn, loss_fn_config }: PassInput): TokenBatch {
  const loss = lossNamed(loss_fn);
  if (data.length === 0) throw new Refusal('data has no examples');
  if (data.length > MOST_EXAMPLES) throw new Refusal(`data has ${data.length} examples, more than ${MOST_EXAMPLES}`);
  const config = settings(loss, loss_fn, loss_fn_config ?? {});
  const sequences = data.map((datum, i) => {
    try {
      return sequenceOf(datum, loss, loss_fn, config);
    } catch (error) {
      throw error instanceof Refusal ? new Refusal(`data.${i}: ${error.message}`) : error;
    }
  });
  return { objective: loss.objective, sequences };
}

function settings(
  { config }: Loss,
  name: string,
  given: Readonly<Record<string, number | string>>,
): Readonly<Record<string, number>> {
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(config, key));
  if (unknown !== undefined) throw new Refusal(`loss_fn_config.${unknown} is not a setting of ${name}`);
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, { default: usual }]) => {
      const value = Object.hasOwn(given, key) ? given[key] : usual;
      // Clients may also send thresholds with each token.
      if (value === undefined) return [];
      if (typeof value !== 'number') throw new Refusal(`loss_fn_config.${key} is not a number`);
      return [[key, value]];
    }),
  );
}

function sequenceOf(
  { model_input, loss_fn_inputs }: Datum,
  { sent, config, objective }: Loss,
  name: string,
  settings: Readonly<Record<string, number>>,
): TokenSequence {
  const tokens = tokensOf(model_input);
  const { length } = tokens;
  if (length === 0) throw new Refusal('model_input has no tokens');
  const { target_tokens, ...others } = loss_fn_inputs;
  if (!target_tokens) throw new Refusal('loss_fn_inputs has no target_tokens');
  const known = { ...sent, ...config };
  const unknown = Object.keys(others).find((key) => !Object.hasOwn(known, key));
  if (unknown !== undefined) throw new Refusal(`loss_fn_inputs.${unknown} is not an input of ${name}`);
  const targetIds = column(target_tokens, length, 'target_tokens');
  const inputs = Object.entries(known).map(([key, { default: usual }]) => {
    const tensor = Object.hasOwn(others, key) ? others[key] : undefined;
    const constant = settings[key] ?? usual;
    if (tensor) return [key, column(tensor, length, key)] as const;
    if (constant !== undefined) return [key, new Array<number>(length).fill(constant)] as const;
    throw new Refusal(
      Object.hasOwn(config, key)
        ? `${name} needs loss_fn_config.${key}`
        : `loss_fn_inputs has no ${key}, which ${name} needs`,
    );
  });
  if (objective.inputs.includes('sequence_ratio_mask')) {
    const mask = inputs.find(([key]) => key === 'sequence_ratio_mask')![1];
    for (const [i, weight] of mask.entries()) mask[i] = Number(weight !== 0);
  }
  return {
    // The first token predicts the first target, so it is all of the prompt. Nothing reads the last target.
    promptIds: tokens.slice(0, 1),
    completionIds: [...tokens.slice(1), targetIds.at(-1)!],
    mask: new Array<boolean>(length).fill(true),
    targetIds,
    inputs: Object.fromEntries(inputs),
    advantage: 0,
  };
}

/** The numbers of a tensor with one for each token. */
function column(tensor: SentTensor, length: number, name: string): number[] {
  if (tensor.sparse_crow_indices || tensor.sparse_col_indices || (tensor.shape && tensor.shape.length > 1))
    throw new Refusal(`loss_fn_inputs.${name} has several numbers for a token, which this server does not support`);
  const { data, shape } = tensor;
  if (shape && shape[0] !== data.length)
    throw new Refusal(`loss_fn_inputs.${name} has ${data.length} numbers and a shape of [${shape}]`);
  if (data.length !== length)
    throw new Refusal(`loss_fn_inputs.${name} has ${data.length} numbers for the ${length} tokens of model_input`);
  const wrong = data.find((number) => !Number.isFinite(Math.fround(number)));
  if (wrong !== undefined) throw new Refusal(`loss_fn_inputs.${name} has ${wrong}, which is not a finite float32`);
  return data;
}
