// The part of config.json that all families share, and the names of a model's parameters.
import type { AttentionHeads, StorageFormat } from '../tensor/graph.ts';
import type { RopeSettings } from './rope-settings.ts';

/** The configuration that all families have, under Hugging Face's names in camelCase. */
export interface ModelConfig {
  readonly modelType: string;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
  readonly vocabularySize: number;
  /** The longest sequence, in tokens. */
  readonly contextLength: number;
  readonly rope: RopeSettings;
  /** Whether each layer leaves queries and keys unrotated. @default none does */
  readonly unrotated?: readonly boolean[] | undefined;
  /** The factor of the scores of attention. */
  readonly attentionScale: number;
  /** @default every layer attends to the whole context */
  readonly sliding?: SlidingLayers | undefined;
  /** Whether the output layer uses the embedding table as its weight. */
  readonly tiedEmbeddings: boolean;
  /** Tokens that end a text, according to config.json. */
  readonly eosIds: readonly number[];
}

/** Layers that attend to the last tokens alone. */
export interface SlidingLayers {
  /** How many tokens a token attends to, itself included. */
  readonly window: number;
  /** Rotary embeddings of these layers. @default those of the other layers */
  readonly rope?: RopeSettings;
  /** For each layer of the model, whether it is such a layer. */
  readonly layers: readonly boolean[];
}

/** A parameter as checkpoints store it. */
export interface ParameterSpec {
  /** Hugging Face's name, for example `model.layers.0.self_attn.q_proj.weight`. */
  readonly name: string;
  readonly shape: readonly number[];
  /** Weight decay does not apply to biases and norms; adapters are for linear layers. */
  readonly kind: 'linear' | 'bias' | 'norm' | 'embedding';
  /** The format of the parameter in the model's file, if known. */
  readonly stored?: StorageFormat;
}

export const EMBEDDING = 'model.embed_tokens.weight';
export const OUTPUT = 'lm_head.weight';
/** The name of the output layer's weight [vocabulary, hidden]. */
export const outputName = ({ tiedEmbeddings }: ModelConfig) => (tiedEmbeddings ? EMBEDDING : OUTPUT);

/** The heads of a layer's attention, and how many tokens they see. */
export function attentionHeads(config: ModelConfig, layer: number): AttentionHeads {
  const { heads, keyValueHeads, attentionScale: scale, sliding } = config;
  return { heads, keyValueHeads, scale, ...(sliding?.layers[layer] && { window: sliding.window }) };
}

/** The type of the keys and values in a cache. */
export type CacheType = 'float32' | 'float16';

/** Bytes of the keys and values of one token in a cache, over all layers. */
export function cacheBytesPerToken(
  { layers, keyValueHeads, headSize }: Pick<ModelConfig, 'layers' | 'keyValueHeads' | 'headSize'>,
  type: CacheType,
): number {
  return layers * 2 * keyValueHeads * headSize * (type === 'float16' ? 2 : 4);
}
