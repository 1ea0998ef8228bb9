// Mistral (Jiang et al. 2023, arXiv:2310.06825) without a sliding window, that is from version 0.2 on: `model_type: mistral`.
import { ConfigReader } from './config-reader.ts';
import { decoderBody, decoderConfig, decoderParameters } from './decoder.ts';
import type { ModelFamily } from './layers.ts';

export const mistral: ModelFamily = {
  config(json) {
    const read = new ConfigReader(json);
    read.refuseSlidingWindow(json.sliding_window !== null);
    return decoderConfig(read, {
      modelType: 'mistral',
      biases: { queryKeyValue: false, output: false, mlp: false },
      queryKeyNorm: false,
      defaults: { contextLength: 131072 },
    });
  },
  parameters: decoderParameters,
  body: decoderBody,
};
