// Schemas of a Tinker server's answers, with only those fields that we read.
import { z } from 'zod';

/** The version of Tinker’s library whose requests we send. */
export const SPOKEN_VERSION = '0.38.0';

const tensor = z.object({ data: z.array(z.number()) });

export const capabilities = z.object({
  supported_models: z.array(
    z.object({ model_name: z.string().nullish(), max_context_length: z.int().positive().nullish() }),
  ),
});

/**
 * The server's limits for one request, in examples and bytes, with the defaults of Tinker's library; whether passes are sent in zstd, and whether tokens that expire
 * replace the key.
 */
export const clientConfig = z.object({
  pjwt_auth_enabled: z.boolean().default(false),
  proto_compress_fwdbwd: z.boolean().default(false),
  fwdbwd_max_chunk_len: z.int().positive().default(1024),
  fwdbwd_max_chunk_bytes_count: z.int().positive().default(5_000_000),
});

export const exchangedToken = z.object({ jwt: z.string() });

export const createdSession = z.object({ session_id: z.string() });

/** The first answer to a request whose result comes later. */
export const future = z.object({ request_id: z.string() });

/** The answer while a result is not ready. */
export const tryAgain = z.object({ type: z.literal('try_again') });

/** The answer instead of a result if the request failed. */
export const failed = z.object({ error: z.string(), category: z.string().nullish() });

export const createdModel = z.object({ model_id: z.string() });

export const samplingSession = z.object({ sampling_session_id: z.string() });

export const savedWeights = z.object({ path: z.string() });

export const sampled = z.object({
  sequences: z.tuple([
    z.object({
      stop_reason: z.enum(['stop', 'length']),
      tokens: z.array(z.int()),
      // An empty completion has none.
      logprobs: z.array(z.number()).nullish(),
    }),
  ]),
});

/** The first token of a text, which has no log-probability, is null or left out. */
export const scoredPrompt = z.object({ prompt_logprobs: z.array(z.number().nullable()) });

export const passed = z.object({ loss_fn_outputs: z.array(z.object({ logprobs: tensor })) });

/** Results that are ignored. */
export const done = z.object({});
