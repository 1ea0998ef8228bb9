// Qwen3 (arXiv:2505.09388), the dense models: queries and keys are normalised head by head. Reads `model_type: qwen3`.
import { configReader } from './config-reader.ts';
import { decoderBody, decoderConfig, decoderParameters } from './decoder.ts';
import type { ModelFamily } from './layers.ts';

export const qwen3: ModelFamily = {
  config(json) {
    const read = configReader(json);
    read.refuseSlidingWindow(read.boolean('use_sliding_window', false));
    const attentionBias = read.boolean('attention_bias', false);
    return decoderConfig(read, {
      modelType: 'qwen3',
      biases: { queryKeyValue: attentionBias, output: attentionBias, mlp: false },
      queryKeyNorm: true,
      defaults: { contextLength: 32768, headSize: 128 },
    });
  },
  parameters: decoderParameters,
  body: decoderBody,
};
