// Llama 1 to 3.3, and models with the same architecture such as SmolLM2: `model_type: llama`.
import { decoderFamily } from './decoder.ts';

export const llama = decoderFamily((read) => {
  const attentionBias = read.boolean('attention_bias', false);
  return {
    modelType: 'llama',
    biases: { queryKeyValue: attentionBias, output: attentionBias, mlp: read.boolean('mlp_bias', false) },
    defaults: { contextLength: 2048 },
  };
});
