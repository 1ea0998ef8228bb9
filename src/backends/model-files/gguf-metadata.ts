// A GGUF file's metadata about a model, apart from weights and tokenizer: the inverse of formats/gguf-config.ts.
import { option } from '../../common/words.ts';
import { GradusError } from '../../errors.ts';
import type { GgufArchitecture } from '../../formats/gguf-architectures.ts';
import { architectureOfType, llama3Keys } from '../../formats/gguf-config.ts';
import { STILL } from '../../formats/gguf-gemma4.ts';
import { float32, type GgufMetadata } from '../../formats/gguf-writer.ts';
import type { DecoderConfig } from '../../models/decoder.ts';
import { architectureOf, type FamilyConfig } from '../../models/families.ts';
import type { Gemma4Config } from '../../models/gemma4.ts';
import { type DeltaSizes, keysOf, keyValueHeadsOf, type ModelConfig } from '../../models/model-config.ts';
import { frequencyFactor, type RopeSettings } from '../../models/rope-settings.ts';

/** Architectures whose linear layers may have biases where the family leaves the choice to the configuration. */
const withBiases: readonly GgufArchitecture[] = ['llama', 'qwen2', 'granite'];

/**
 * The metadata of a model. Throws `EXPORT_IMPOSSIBLE` for a model that llama.cpp would compute differently.
 * @param json the config.json
 */
export function ggufModelMetadata(json: Readonly<Record<string, unknown>>): GgufMetadata {
  const { config } = architectureOf(json);
  const architecture = architectureOfType(config.modelType);
  if (!architecture)
    throw new GradusError('EXPORT_IMPOSSIBLE', `models of type ${config.modelType} are not written as GGUF`, {
      path: 'model_type',
      hint: `export it as a Hugging Face model: ${option('format', 'merged')}`,
    });
  assertKnown(config, architecture, json);
  const { sliding } = config;
  const isGemma = architecture === 'gemma3' || architecture === 'gemma4';
  const own = {
    // llama.cpp has no sliding windows in a Llama; up to the length of a window, it computes the same.
    context_length: isGemma || !sliding ? config.contextLength : Math.min(config.contextLength, sliding.window),
    embedding_length: config.hiddenSize,
    block_count: config.layers,
    feed_forward_length: 'intermediateSizes' in config ? lengths(config.intermediateSizes) : config.intermediateSize,
    vocab_size: config.vocabularySize,
    'attention.head_count': config.heads,
    'attention.head_count_kv':
      config.attends && !config.deltaRule
        ? Int32Array.from(config.attends, (attends) => (attends ? config.keyValueHeads : 0))
        : config.keyValueHeads,
    'attention.key_length': config.headSize,
    'attention.value_length': config.headSize,
    'attention.layer_norm_rms_epsilon': float32(config.rmsNormEpsilon),
    'rope.dimension_count': config.rope.rotated ?? config.headSize,
    'rope.freq_base': float32(config.rope.theta),
    ...(architecture !== 'gemma4' && scaling(config.rope)),
    ...(isGemma && {
      'attention.sliding_window': sliding!.window,
      'rope.freq_base_swa': float32(sliding!.rope!.theta),
    }),
    ...(architecture === 'granite' && 'biases' in config && graniteFactors(config)),
    ...(architecture === 'lfm2' && { 'shortconv.l_cache': config.convolutionLength! }),
    ...(config.deltaRule && deltaNets(config, config.deltaRule)),
    ...('intermediateSizes' in config && gemma4Layers(config)),
  };
  return {
    'general.architecture': architecture,
    'general.type': 'model',
    ...Object.fromEntries(Object.entries(own).map(([key, value]) => [`${architecture}.${key}`, value])),
    ...llama3Settings(config.rope),
  };
}

/** One number if they are all the same. */
const lengths = (each: readonly number[]) => (new Set(each).size === 1 ? each[0]! : Int32Array.from(each));

function gemma4Layers(config: Gemma4Config): GgufMetadata {
  const marks = config.sliding!.layers;
  const heads = marks.map((_, layer) => keyValueHeadsOf(config, layer));
  const [wide, narrow] = [heads[marks.indexOf(false)]!.headSize, heads[marks.indexOf(true)]!.headSize];
  return {
    embedding_length_per_layer_input: config.layerEmbeddingSize,
    ...(config.logitCap !== undefined && { final_logit_softcapping: float32(config.logitCap) }),
    'attention.head_count_kv': lengths(heads.map(({ keyValueHeads }) => keyValueHeads)),
    'attention.key_length': wide,
    'attention.value_length': wide,
    'attention.key_length_swa': narrow,
    'attention.value_length_swa': narrow,
    'attention.shared_kv_layers': marks.filter((_, layer) => keysOf(config, layer) !== layer).length,
    'attention.sliding_window_pattern': marks,
    'rope.dimension_count': wide,
    'rope.dimension_count_swa': narrow,
  };
}

function deltaNets({ attends = [], convolutionLength }: ModelConfig, sizes: DeltaSizes): GgufMetadata {
  return {
    full_attention_interval: attends.indexOf(true) + 1,
    'rope.dimension_sections': Int32Array.from(imageSections),
    'ssm.conv_kernel': convolutionLength!,
    'ssm.state_size': sizes.keySize,
    'ssm.group_count': sizes.keyHeads,
    'ssm.time_step_rank': sizes.valueHeads,
    'ssm.inner_size': sizes.valueHeads * sizes.valueSize,
  };
}

/** How llama.cpp divides rotating pairs among the positions of an image. For text these positions are equal. */
const imageSections = [11, 11, 10, 0];

function graniteFactors(config: DecoderConfig): GgufMetadata {
  return {
    embedding_scale: float32(config.embeddingScale),
    'attention.scale': float32(config.attentionScale),
    residual_scale: float32(config.residualScale),
    logit_scale: float32(1 / config.outputScale),
  };
}

/** The divisor of each lane's frequency, for the tensor `ROPE_FACTORS`, with which Llama 3's scaling is written. */
export function ropeFactors({ modelType, rope, headSize, layerHeads, sliding }: ModelConfig): Float32Array | undefined {
  if (modelType === 'gemma4_text') {
    const lanes = layerHeads![sliding!.layers.indexOf(false)]!.headSize / 2;
    const divisor = 1 / frequencyFactor(rope, 0, 2 * lanes);
    return Float32Array.from({ length: lanes }, (_, lane) => (lane < (rope.turning ?? lanes) ? divisor : STILL));
  }
  if (rope.scaling?.type !== 'llama3') return undefined;
  return Float32Array.from({ length: headSize / 2 }, (_, lane) => 1 / frequencyFactor(rope, lane, headSize));
}

/** The settings behind the divisors of frequencies, for Gradus: llama.cpp needs only the divisors. */
function llama3Settings({ scaling }: RopeSettings): GgufMetadata {
  if (scaling?.type !== 'llama3') return {};
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalContextLength } = scaling;
  return {
    [llama3Keys.factor]: float32(factor),
    [llama3Keys.low]: float32(lowFrequencyFactor),
    [llama3Keys.high]: float32(highFrequencyFactor),
    [llama3Keys.context]: originalContextLength,
  };
}

function scaling({ scaling }: RopeSettings): GgufMetadata {
  if (!scaling || scaling.type === 'llama3' || scaling.type === 'longrope') return {};
  const common = { 'rope.scaling.type': scaling.type, 'rope.scaling.factor': float32(scaling.factor) };
  if (scaling.type === 'linear') return common;
  return {
    ...common,
    'rope.scaling.original_context_length': scaling.originalContextLength,
    'rope.scaling.yarn_beta_fast': float32(scaling.betaFast),
    'rope.scaling.yarn_beta_slow': float32(scaling.betaSlow),
  };
}

/** Throws `EXPORT_IMPOSSIBLE` for a model that differs in a setting common to its architecture, since the file does not contain it. */
function assertKnown(
  config: FamilyConfig,
  architecture: GgufArchitecture,
  json: Readonly<Record<string, unknown>>,
): void {
  const { sliding, unrotated, rope } = config;
  const refuse = (field: string, why: string) => {
    throw new GradusError('EXPORT_IMPOSSIBLE', `the model cannot be written as GGUF: ${field} ${why}`, {
      path: field,
      hint: `export it as a Hugging Face model: ${option('format', 'merged')}`,
    });
  };
  const isEvery = (marks: readonly boolean[], distance: number, mark: boolean) =>
    marks.every((value, layer) => value === ((layer + 1) % distance === 0 ? mark : !mark));
  if (architecture === 'gemma3') {
    if (!sliding?.rope || !isEvery(sliding.layers, 6, false))
      refuse('layer_types', 'must make every sixth layer attend to everything');
    if (config.attentionScale !== 1 / Math.sqrt(config.headSize))
      refuse('query_pre_attn_scalar', 'must be the head size');
  } else if (sliding && config.modelType !== 'mistral' && architecture !== 'gemma4') {
    refuse('sliding_window', 'is not part of the format');
  }
  if ('intermediateSizes' in config) {
    if (config.attentionBias) refuse('attention_bias', 'is not part of the format');
    if (!sliding) refuse('layer_types', 'must have layers that attend to a window');
    if (sliding!.rope!.scaling || (rope.scaling && rope.scaling.type !== 'linear'))
      refuse('rope_parameters', 'has a scaling that is not part of the format');
    if (config.layerEmbeddingSize > 0 && config.layerVocabularySize !== config.vocabularySize)
      refuse('vocab_size_per_layer_input', 'must be the number of tokens');
    // llama.cpp reads the keys of the last two layers that have any: the first of them slides, the other does not.
    const first = config.keysFrom!.findIndex((from, layer) => from !== layer);
    const sources = config.keysFrom!.filter(
      (from, layer) => from !== layer && from !== first - (sliding!.layers[layer] ? 2 : 1),
    );
    if (sources.length > 0)
      refuse('num_kv_shared_layers', 'must leave a layer with a window and one without behind which keys are shared');
  } else if ('convolutionBias' in config) {
    if (config.convolutionBias) refuse('conv_bias', 'is not part of the format');
  } else if ('attentionBias' in config) {
    if (config.attentionBias) refuse('attention_bias', 'is not part of the format');
    const distance = config.attends.indexOf(true) + 1;
    if (distance === 0 || !isEvery(config.attends, distance, true))
      refuse('layer_types', 'must have attention at equal distances');
    if (config.deltaRule.keySize !== config.deltaRule.valueSize)
      refuse('linear_value_head_dim', 'must be linear_key_head_dim');
  } else if (Object.values(config.biases).includes(true) && !withBiases.includes(architecture)) {
    refuse('attention_bias', 'is not part of the format');
  }
  if (architecture === 'olmo2' && config.heads * config.headSize !== config.hiddenSize) {
    refuse('head_dim', 'must be hidden_size / num_attention_heads');
  }
  if (architecture === 'smollm3' && !isEvery(unrotated!, 4, true))
    refuse('no_rope_layers', 'must be every fourth layer');
  if (rope.scaling?.type === 'longrope') refuse('rope_scaling', 'has divisors for each frequency');
  if (rope.scaling?.type === 'yarn') {
    const { attentionFactor, factor, truncate } = rope.scaling;
    const usual = Math.abs(attentionFactor - (factor <= 1 ? 1 : 0.1 * Math.log(factor) + 1)) < 1e-6;
    if (!usual || !truncate) refuse(json.rope_scaling ? 'rope_scaling' : 'rope_parameters', 'has factors of its own');
  }
}
