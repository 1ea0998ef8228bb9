// What a model family is built from: named parameters, linear layers that may carry adapters, and attention that its caller supplies.
// The same family code so makes the training graph, whose attention shares prompts, and the decoding graph, whose attention has a cache.
import type { Tensor } from '../tensor/graph.ts';
import { add, checkpoint, input, less, matmul, mul, quantizedMatmul, scalar, sub, where } from '../tensor/ops.ts';
import type { Shape } from '../tensor/shape.ts';
import type { LoraAdapters } from './lora.ts';
import { packedName, type Quantization, quantizedShapes, scalesName } from './quantized.ts';
import type { RopeSettings } from './rotary-tables.ts';

/** Sizes that every family's configuration tells, under Hugging Face's names in camelCase. */
export interface ModelConfig {
  readonly modelType: string;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headSize: number;
  readonly vocabularySize: number;
  /** The longest sequence that positions exist for. */
  readonly contextLength: number;
  readonly rope: RopeSettings;
  /** Whether the output layer is the embedding table. */
  readonly tiedEmbeddings: boolean;
  /** Tokens that end a text, as configured. */
  readonly eosIds: readonly number[];
}

/** A parameter as checkpoints store it. */
export interface ParameterSpec {
  /** Hugging Face's name, for example `model.layers.0.self_attn.q_proj.weight`. */
  readonly name: string;
  readonly shape: readonly number[];
  /** Biases and norms are exempt from weight decay; adapters go on linear layers. */
  readonly kind: 'linear' | 'bias' | 'norm' | 'embedding';
}

/** Causal attention over rows: query [rows, heads·D], key and value [rows, keyValueHeads·D] → [rows, heads·D]. */
export type Attention = (layer: number, query: Tensor, key: Tensor, value: Tensor) => Tensor;

export interface Layers {
  /** A parameter as a graph input of its own name. */
  parameter(name: string, shape: Shape): Tensor;
  /** x [rows, in] → [rows, out]: the layer `name`, with its bias if it has one and its adapter if it carries one. */
  linear(x: Tensor, name: string, size: { readonly in: number; readonly out: number; readonly bias?: boolean }): Tensor;
  /** x [rows, in] times the transpose of the parameter `name` [out, in]: a linear layer, or the output layer. */
  project(x: Tensor, name: string, size: { readonly in: number; readonly out: number }, alpha?: number): Tensor;
  readonly attention: Attention;
  /** Marks where a block of layers begins. */
  checkpoint(x: Tensor): Tensor;
}

export interface AdapterDropout {
  readonly probability: number;
  /** A random number in [0, 1) for each row, [rows, 1]; one for each column of a layer's input is the input `dropoutColumns(layer)`. */
  readonly rows: Tensor;
}

/** The graph input [1, in] of a layer's random numbers. */
export const dropoutColumns = (layer: string) => `${layer}.dropout`;

export interface LayerOptions {
  readonly attention: Attention;
  readonly adapters?: LoraAdapters;
  /** Read matrices in a rounded form, which the caller provides under other names. @default exact */
  readonly quantization?: Quantization;
  /** Compute each block again for the gradients instead of keeping what it computed. @default false: only what is cheap */
  readonly recompute?: boolean;
  /** Matrices that are read as they are all the same: those that are trained. @default none */
  readonly exact?: ReadonlySet<string>;
  /** What adapters do not see while training. @default they see all */
  readonly dropout?: AdapterDropout;
}

/** One architecture: the code that a `model_type` stands for. */
export interface ModelFamily {
  /** Reads config.json; what the family cannot compute is an error. */
  config(json: Readonly<Record<string, unknown>>): ModelConfig;
  parameters(config: ModelConfig): ParameterSpec[];
  /** Embedded tokens [rows, hidden] → what the output layer reads [rows, hidden]. */
  body(config: ModelConfig, embedded: Tensor, layers: Layers): Tensor;
}

export const EMBEDDING = 'model.embed_tokens.weight';
export const OUTPUT = 'lm_head.weight';
/** The parameter [vocabulary, hidden] that turns the body's result into logits. */
export const outputName = ({ tiedEmbeddings }: ModelConfig) => (tiedEmbeddings ? EMBEDDING : OUTPUT);

/** Layers whose parameters are graph inputs, one object a name, so that a graph asks for each once. */
export function createLayers({
  attention,
  adapters,
  quantization,
  exact,
  dropout,
  recompute = false,
}: LayerOptions): Layers {
  const parameters = new Map<string, Tensor>();
  const parameter = (name: string, shape: Shape): Tensor => {
    const known = parameters.get(name) ?? input(name, 'float32', shape);
    parameters.set(name, known);
    return known;
  };
  const project: Layers['project'] = (x, name, size, alpha = 1) => {
    if (!quantization || exact?.has(name))
      return matmul(x, parameter(name, [size.out, size.in]), { transposeB: true, alpha });
    const { packed, scales } = quantizedShapes([size.out, size.in], quantization);
    const product = quantizedMatmul(
      x,
      input(packedName(name), 'uint8', packed),
      parameter(scalesName(name), scales),
      quantization,
    );
    return alpha === 1 ? product : mul(product, alpha);
  };
  return {
    parameter,
    project,
    linear(x, name, size) {
      let y = project(x, `${name}.weight`, size);
      const adapter = adapters?.get(name);
      if (adapter) {
        const seen = dropout ? dropOut(x, parameter(dropoutColumns(name), [1, size.in]), dropout) : x;
        const down = matmul(seen, parameter(adapter.a.name, adapter.a.shape), { transposeB: true });
        y = add(
          y,
          matmul(down, parameter(adapter.b.name, adapter.b.shape), { transposeB: true, alpha: adapter.scale }),
        );
      }
      return size.bias ? add(y, parameter(`${name}.bias`, [size.out])) : y;
    },
    attention,
    checkpoint: (x) => checkpoint(x, recompute ? 'all' : 'cheap'),
  };
}

/**
 * Zero with some probability, else larger by as much as that takes away. Each entry goes by the fraction of its row's number plus its column's:
 * entries are uniform and independent in pairs, which is all that a gradient's mean and variance ask, for one number a row and one a column.
 */
function dropOut(x: Tensor, columns: Tensor, { probability, rows }: AdapterDropout): Tensor {
  const sum = add(rows, columns);
  const fraction = where(less(sum, 1), sum, sub(sum, 1));
  return mul(x, where(less(fraction, probability), scalar(0), scalar(1 / (1 - probability))));
}
