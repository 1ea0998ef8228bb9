// Qwen2 and Qwen2.5 (arXiv:2412.15115), with biases on queries, keys and values: `model_type: qwen2`.
import { ConfigReader } from './config-reader.ts';
import { decoderBody, decoderConfig, decoderParameters } from './decoder.ts';
import type { ModelFamily } from './layers.ts';

export const qwen2: ModelFamily = {
  config(json) {
    const read = new ConfigReader(json);
    read.refuseSlidingWindow(read.boolean('use_sliding_window', false));
    return decoderConfig(read, {
      modelType: 'qwen2',
      biases: { queryKeyValue: true, output: false, mlp: false },
      queryKeyNorm: false,
      defaults: { contextLength: 32768 },
    });
  },
  parameters: decoderParameters,
  body: decoderBody,
};
