// Llama 1 to 3.3, and models with the same architecture such as SmolLM2: `model_type: llama`.
import { ConfigReader } from './config-reader.ts';
import { decoderBody, decoderConfig, decoderParameters } from './decoder.ts';
import type { ModelFamily } from './layers.ts';

export const llama: ModelFamily = {
  config(json) {
    const read = new ConfigReader(json);
    const attentionBias = read.boolean('attention_bias', false);
    return decoderConfig(read, {
      modelType: 'llama',
      biases: { queryKeyValue: attentionBias, output: attentionBias, mlp: read.boolean('mlp_bias', false) },
      defaults: { contextLength: 2048 },
    });
  },
  parameters: decoderParameters,
  body: decoderBody,
};
