// Schemas of the TRL worker's answers: the results in python/gradus_worker/trl/__main__.py.
import { z } from 'zod';

const logprobs = z.array(z.array(z.number()));
const topLogprobs = z.array(z.array(z.strictObject({ id: z.int(), logprob: z.number() }))).optional();

export const opened = z.strictObject({
  parameters: z.strictObject({ total: z.int(), trainable: z.int() }),
  context_length: z.int(),
  device: z.string(),
});

export const sampled = z.array(
  z.strictObject({
    ids: z.array(z.int()),
    logprobs: z.array(z.number()),
    plain_logprobs: z.array(z.number()),
    top_logprobs: topLogprobs,
    finish_reason: z.enum(['stop', 'length', 'cancelled']),
  }),
);

export const scored = logprobs;

export const read = z.array(z.strictObject({ logprobs: z.array(z.number()), top_logprobs: topLogprobs }));

export const updated = z.strictObject({
  metrics: z.record(z.string(), z.number()),
  /** The log-probabilities of each row under the weights before the update, padded to the longest. */
  logprobs,
});
