// OLMo 2 (arXiv:2501.00656), which normalises what attention and the feed-forward layers return, and all heads of a query or key together:
// `model_type: olmo2`.
import { ConfigReader } from './config-reader.ts';
import { decoderBody, decoderConfig, decoderParameters } from './decoder.ts';
import type { ModelFamily } from './layers.ts';

export const olmo2: ModelFamily = {
  config(json) {
    const read = new ConfigReader(json);
    const attentionBias = read.boolean('attention_bias', false);
    return decoderConfig(read, {
      modelType: 'olmo2',
      biases: { queryKeyValue: attentionBias, output: attentionBias, mlp: false },
      norms: { afterAttention: 'post_attention_layernorm', afterMlp: 'post_feedforward_layernorm' },
      queryKeyNorm: 'layer',
      defaults: { contextLength: 2048, normEpsilon: 1e-5 },
    });
  },
  parameters: decoderParameters,
  body: decoderBody,
};
