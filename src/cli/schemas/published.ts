// The schemas of all objects that the command prints, by the name in the object's `schema`.
import { z } from 'zod';
import { agentDocsSchema } from './agent-docs.ts';
import { configSchemaSchema } from './config-schema.ts';
import { conformanceSchema } from './conformance.ts';
import { dashboardSchema } from './dashboard.ts';
import { dataCheckSchema } from './data-check.ts';
import { demoSchema } from './demo.ts';
import { doctorSchema } from './doctor.ts';
import { envCheckSchema } from './env-check.ts';
import { errorSchema } from './error.ts';
import { evalSchema } from './eval.ts';
import { exportSchema } from './export.ts';
import { gpuTrainSchema } from './gpu-train.ts';
import { handoffSchema } from './handoff.ts';
import { helpSchema } from './help.ts';
import { initSchema } from './init.ts';
import { preflightSchema } from './preflight.ts';
import { presetsSchema } from './presets.ts';
import { replaySchema } from './replay.ts';
import { rewardsListSchema } from './rewards-list.ts';
import { rewardsScoreSchema, rewardsServeSchema } from './rewards-serve.ts';
import { rewardsTestSchema } from './rewards-test.ts';
import { runsCompareSchema } from './runs-compare.ts';
import { runsDiagnoseSchema } from './runs-diagnose.ts';
import { runsListSchema } from './runs-list.ts';
import { runsShowSchema } from './runs-show.ts';
import { runsSnapshotSchema } from './runs-snapshot.ts';
import { runsStopSchema } from './runs-stop.ts';
import { runsTailSchema } from './runs-tail.ts';
import { runsWaitSchema } from './runs-wait.ts';
import { sampleSchema } from './sample.ts';
import { schemaSchema } from './schema.ts';
import { serveSchema } from './serve.ts';
import { skillsInstallSchema } from './skills-install.ts';
import { trainSchema } from './train.ts';
import { trainDetachedSchema } from './train-detached.ts';
import { trainEventSchema } from './train-event.ts';
import { trainPlanSchema } from './train-plan.ts';
import { versionSchema } from './version.ts';

/** Adding a key keeps the number of a schema; removing or changing one raises it. */
export const publishedSchemas: Readonly<Record<string, z.ZodType>> = {
  'agent-docs.result/1': agentDocsSchema,
  'config-schema.result/1': configSchemaSchema,
  'conformance.result/1': conformanceSchema,
  'dashboard.result/1': dashboardSchema,
  'data.check.result/1': dataCheckSchema,
  'demo.result/1': demoSchema,
  'doctor.result/1': doctorSchema,
  'env.check.result/1': envCheckSchema,
  'error/1': errorSchema,
  'eval.result/1': evalSchema,
  'export.result/1': exportSchema,
  'gpu-train.result/1': gpuTrainSchema,
  'handoff.result/1': handoffSchema,
  'help.result/1': helpSchema,
  'init.result/1': initSchema,
  'preflight.result/1': preflightSchema,
  'presets.result/1': presetsSchema,
  'replay.result/1': replaySchema,
  'rewards.list.result/1': rewardsListSchema,
  'rewards.score/1': rewardsScoreSchema,
  'rewards.serve.result/1': rewardsServeSchema,
  'rewards.test.result/1': rewardsTestSchema,
  'runs.compare.result/1': runsCompareSchema,
  'runs.diagnose.result/1': runsDiagnoseSchema,
  'runs.list.result/1': runsListSchema,
  'runs.show.result/1': runsShowSchema,
  'runs.snapshot.result/1': runsSnapshotSchema,
  'runs.stop.result/1': runsStopSchema,
  'runs.tail.result/1': runsTailSchema,
  'runs.wait.result/1': runsWaitSchema,
  'sample.result/1': sampleSchema,
  'schema.result/1': schemaSchema,
  'serve.result/1': serveSchema,
  'skills.install.result/1': skillsInstallSchema,
  'train.detached/1': trainDetachedSchema,
  'train.event/2': trainEventSchema,
  'train.plan/1': trainPlanSchema,
  'train.result/1': trainSchema,
  'version.result/1': versionSchema,
};

/** The JSON Schema (draft 2020-12) of a kind of output. */
export function jsonSchemaOf(name: keyof typeof publishedSchemas): Record<string, unknown> {
  return { title: name, ...z.toJSONSchema(publishedSchemas[name]!) };
}
