// The dense models of IBM's Granite 3, Llamas with a factor at four places: `model_type: granite`.
import { decoderFamily } from './decoder.ts';

export const granite = decoderFamily((read) => {
  const attentionBias = read.boolean('attention_bias', false);
  return {
    modelType: 'granite',
    biases: { queryKeyValue: attentionBias, output: attentionBias, mlp: read.boolean('mlp_bias', false) },
    embeddingScale: read.positive('embedding_multiplier', 1),
    attentionScale: read.positive('attention_multiplier', 1),
    residualScale: read.positive('residual_multiplier', 1),
    outputScale: 1 / read.positive('logits_scaling', 1),
    defaults: { contextLength: 2048 },
  };
});
