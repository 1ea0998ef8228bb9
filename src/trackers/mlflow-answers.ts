// Answers of a server with MLflow's REST API, with the fields that tracking reads.
import { z } from 'zod';

/** Answers whose content does not matter. */
export const anyAnswer = z.looseObject({});

export const foundExperiment = z.object({ experiment: z.object({ experiment_id: z.string() }) });
export const createdExperiment = z.object({ experiment_id: z.string() });

export const runAnswer = z.object({
  run: z.object({
    info: z.object({
      run_id: z.string().min(1),
      // Servers without artifacts leave it out.
      artifact_uri: z.string().nullish(),
      lifecycle_stage: z.string().nullish(),
    }),
  }),
});

export const faultAnswer = z.object({ error_code: z.string().nullish(), message: z.string().nullish() });
