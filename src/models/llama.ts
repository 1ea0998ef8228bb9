// Llama: Touvron et al. 2023, arXiv:2302.13971, with grouped-query attention. Reads `model_type: llama`.
import type { Tensor } from '../tensor/graph.ts';
import { add, mul, rmsNorm, silu } from '../tensor/ops.ts';
import { configReader } from './config-reader.ts';
import { EMBEDDING, type Layers, type ModelConfig, type ModelFamily, OUTPUT, type ParameterSpec } from './layers.ts';

interface LlamaConfig extends ModelConfig {
  readonly intermediateSize: number;
  readonly rmsNormEpsilon: number;
  readonly attentionBias: boolean;
  readonly mlpBias: boolean;
}

export const llama: ModelFamily = { config, parameters, body };

function config(json: Readonly<Record<string, unknown>>): LlamaConfig {
  const read = configReader(json);
  const hiddenSize = read.integer('hidden_size');
  const heads = read.integer('num_attention_heads');
  const keyValueHeads = read.integer('num_key_value_heads', heads);
  const headSize = read.integer('head_dim', hiddenSize / heads);
  if (heads % keyValueHeads !== 0)
    throw read.unsupported('num_key_value_heads', `it does not divide ${heads} attention heads`);
  if (headSize % 2 !== 0) throw read.unsupported('head_dim', 'rotary embeddings need an even head size');
  if (read.text('hidden_act', 'silu') !== 'silu') throw read.unsupported('hidden_act', 'only silu is');
  if (json.rope_scaling) throw read.unsupported('rope_scaling', 'scaled rotary embeddings are not');
  return {
    modelType: 'llama',
    hiddenSize,
    layers: read.integer('num_hidden_layers'),
    heads,
    keyValueHeads,
    headSize,
    vocabularySize: read.integer('vocab_size'),
    contextLength: read.integer('max_position_embeddings', 2048),
    ropeTheta: read.ropeTheta(),
    tiedEmbeddings: read.boolean('tie_word_embeddings', false),
    eosIds: read.ids('eos_token_id'),
    intermediateSize: read.integer('intermediate_size'),
    rmsNormEpsilon: read.number('rms_norm_eps', 1e-6),
    attentionBias: read.boolean('attention_bias', false),
    mlpBias: read.boolean('mlp_bias', false),
  };
}

function parameters(config: LlamaConfig): ParameterSpec[] {
  const { hiddenSize, vocabularySize } = config;
  const specs: ParameterSpec[] = [{ name: EMBEDDING, shape: [vocabularySize, hiddenSize], kind: 'embedding' }];
  for (let layer = 0; layer < config.layers; layer++) {
    const norm = (name: string) =>
      specs.push({ name: `model.layers.${layer}.${name}.weight`, shape: [hiddenSize], kind: 'norm' });
    norm('input_layernorm');
    norm('post_attention_layernorm');
    for (const [name, size] of Object.entries(linearSizes(config))) {
      const path = `model.layers.${layer}.${name}`;
      specs.push({ name: `${path}.weight`, shape: [size.out, size.in], kind: 'linear' });
      if (size.bias) specs.push({ name: `${path}.bias`, shape: [size.out], kind: 'bias' });
    }
  }
  specs.push({ name: 'model.norm.weight', shape: [hiddenSize], kind: 'norm' });
  if (!config.tiedEmbeddings) specs.push({ name: OUTPUT, shape: [vocabularySize, hiddenSize], kind: 'embedding' });
  return specs;
}

function body(config: LlamaConfig, embedded: Tensor, layers: Layers): Tensor {
  const sizes = linearSizes(config);
  const norm = (x: Tensor, name: string) =>
    rmsNorm(x, layers.parameter(`${name}.weight`, [config.hiddenSize]), config.rmsNormEpsilon);
  let x = embedded;
  for (let layer = 0; layer < config.layers; layer++) {
    const path = `model.layers.${layer}`;
    const linear = (y: Tensor, name: keyof typeof sizes) => layers.linear(y, `${path}.${name}`, sizes[name]);

    const read = norm(x, `${path}.input_layernorm`);
    const attended = layers.attention(
      layer,
      linear(read, 'self_attn.q_proj'),
      linear(read, 'self_attn.k_proj'),
      linear(read, 'self_attn.v_proj'),
    );
    x = add(x, linear(attended, 'self_attn.o_proj'));

    const thought = norm(x, `${path}.post_attention_layernorm`);
    const gated = mul(silu(linear(thought, 'mlp.gate_proj')), linear(thought, 'mlp.up_proj'));
    x = add(x, linear(gated, 'mlp.down_proj'));
  }
  return norm(x, 'model.norm');
}

function linearSizes(config: LlamaConfig) {
  const { hiddenSize: hidden, intermediateSize: inner, attentionBias, mlpBias } = config;
  const query = config.heads * config.headSize;
  const keyValue = config.keyValueHeads * config.headSize;
  return {
    'self_attn.q_proj': { in: hidden, out: query, bias: attentionBias },
    'self_attn.k_proj': { in: hidden, out: keyValue, bias: attentionBias },
    'self_attn.v_proj': { in: hidden, out: keyValue, bias: attentionBias },
    'self_attn.o_proj': { in: query, out: hidden, bias: attentionBias },
    'mlp.gate_proj': { in: hidden, out: inner, bias: mlpBias },
    'mlp.up_proj': { in: hidden, out: inner, bias: mlpBias },
    'mlp.down_proj': { in: inner, out: hidden, bias: mlpBias },
  };
}
