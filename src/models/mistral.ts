// Mistral (Jiang et al. 2023, arXiv:2310.06825), up to version 0.1 with a sliding window: `model_type: mistral`.
import { ConfigReader } from './config-reader.ts';
import { decoderBody, decoderConfig, decoderParameters } from './decoder.ts';
import type { ModelFamily } from './layers.ts';

export const mistral: ModelFamily = {
  config(json) {
    const read = new ConfigReader(json);
    return decoderConfig(read, {
      modelType: 'mistral',
      biases: { queryKeyValue: false, output: false, mlp: false },
      sliding: read.sliding(() => true),
      defaults: { contextLength: 131072 },
    });
  },
  parameters: decoderParameters,
  body: decoderBody,
};
