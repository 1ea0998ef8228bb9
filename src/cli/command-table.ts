// The commands: the function that makes each, and the schemas of what it prints under --json. Modules are loaded when they are needed.
import type { Command } from 'commander';
import type { z } from 'zod';
import type { Cli } from './cli.ts';

interface CommandRow {
  readonly make: (cli: Cli) => Promise<Command>;
  /** By the name in the object's `schema`. Adding a key keeps the number of a schema; removing or changing one raises it. */
  readonly prints: Readonly<Record<string, () => Promise<z.ZodType>>>;
  /** The whole names of commands here that go on until they are stopped. */
  readonly serving?: readonly string[];
  /** Likewise, those that only read: they change no files but caches. */
  readonly reading?: readonly string[];
}

/** In the order of the help. */
export const commands: Readonly<Record<string, CommandRow>> = {
  train: {
    make: async (cli) => (await import('./commands/train.ts')).trainCommand(cli),
    prints: {
      'train.detached/1': async () => (await import('./schemas/train-detached.ts')).trainDetachedSchema,
      'train.event/2': async () => (await import('./schemas/train-event.ts')).trainEventSchema,
      'train.plan/1': async () => (await import('./schemas/train-plan.ts')).trainPlanSchema,
      'train.result/1': async () => (await import('./schemas/train.ts')).trainSchema,
    },
  },
  sweep: {
    make: async (cli) => (await import('./commands/sweep.ts')).sweepCommand(cli),
    prints: {
      'sweep.detached/1': async () => (await import('./schemas/sweep.ts')).sweepDetachedSchema,
      'sweep.plan/1': async () => (await import('./schemas/sweep.ts')).sweepPlanSchema,
      'sweep.result/1': async () => (await import('./schemas/sweep.ts')).sweepSchema,
      'sweep.status/1': async () => (await import('./schemas/sweep.ts')).sweepStatusSchema,
      'sweep.stopped/1': async () => (await import('./schemas/sweep.ts')).sweepStoppedSchema,
    },
  },
  eval: {
    make: async (cli) => (await import('./commands/eval.ts')).evalCommand(cli),
    prints: {
      'eval.detached/1': async () => (await import('./schemas/eval-detached.ts')).evalDetachedSchema,
      'eval.result/1': async () => (await import('./schemas/eval.ts')).evalSchema,
      'eval.status/1': async () => (await import('./schemas/eval-detached.ts')).evalStatusSchema,
    },
  },
  sample: {
    reading: ['sample'],
    make: async (cli) => (await import('./commands/sample.ts')).sampleCommand(cli),
    prints: {
      'sample.result/1': async () => (await import('./schemas/sample.ts')).sampleSchema,
    },
  },
  serve: {
    serving: ['serve'],
    make: async (cli) => (await import('./commands/serve.ts')).serveCommand(cli),
    prints: {
      'serve.result/1': async () => (await import('./schemas/serve.ts')).serveSchema,
    },
  },
  export: {
    make: async (cli) => (await import('./commands/export.ts')).exportCommand(cli),
    prints: {
      'export.result/1': async () => (await import('./schemas/export.ts')).exportSchema,
    },
  },
  runs: {
    reading: [
      'runs best',
      'runs compare',
      'runs diagnose',
      'runs list',
      'runs show',
      'runs snapshot',
      'runs tail',
      'runs wait',
    ],
    make: async (cli) => (await import('./commands/runs.ts')).runsCommand(cli),
    prints: {
      'runs.best.result/1': async () => (await import('./schemas/runs-best.ts')).runsBestSchema,
      'runs.compare.result/2': async () => (await import('./schemas/runs-compare.ts')).runsCompareSchema,
      'runs.diagnose.result/1': async () => (await import('./schemas/runs-diagnose.ts')).runsDiagnoseSchema,
      'runs.list.result/1': async () => (await import('./schemas/runs-list.ts')).runsListSchema,
      'runs.note.result/1': async () => (await import('./schemas/runs-labels.ts')).runsNoteSchema,
      'runs.rm.result/1': async () => (await import('./schemas/runs-best.ts')).runsRemoveSchema,
      'runs.show.result/1': async () => (await import('./schemas/runs-show.ts')).runsShowSchema,
      'runs.snapshot.result/1': async () => (await import('./schemas/runs-snapshot.ts')).runsSnapshotSchema,
      'runs.stop.result/1': async () => (await import('./schemas/runs-stop.ts')).runsStopSchema,
      'runs.tag.result/1': async () => (await import('./schemas/runs-labels.ts')).runsTagSchema,
      'runs.tail.result/1': async () => (await import('./schemas/runs-tail.ts')).runsTailSchema,
      'runs.wait.result/1': async () => (await import('./schemas/runs-wait.ts')).runsWaitSchema,
    },
  },
  report: {
    make: async (cli) => (await import('./commands/report.ts')).reportCommand(cli),
    prints: {
      'report.result/1': async () => (await import('./schemas/report.ts')).reportSchema,
    },
  },
  dashboard: {
    serving: ['dashboard'],
    make: async (cli) => (await import('./commands/dashboard.ts')).dashboardCommand(cli),
    prints: {
      'dashboard.result/1': async () => (await import('./schemas/dashboard.ts')).dashboardSchema,
    },
  },
  demo: {
    make: async (cli) => (await import('./commands/demo.ts')).demoCommand(cli),
    prints: {
      'demo.result/1': async () => (await import('./schemas/demo.ts')).demoSchema,
    },
  },
  doctor: {
    make: async (cli) => (await import('./commands/doctor.ts')).doctorCommand(cli),
    prints: {
      'doctor.result/1': async () => (await import('./schemas/doctor.ts')).doctorSchema,
    },
  },
  'gpu-train': {
    reading: ['gpu-train'],
    make: async (cli) => (await import('./commands/gpu-train.ts')).gpuTrainCommand(cli),
    prints: {
      'gpu-train.result/1': async () => (await import('./schemas/gpu-train.ts')).gpuTrainSchema,
    },
  },
  plan: {
    reading: ['plan'],
    make: async (cli) => (await import('./commands/plan.ts')).planCommand(cli),
    prints: {
      'plan.result/1': async () => (await import('./schemas/plan.ts')).planSchema,
    },
  },
  handoff: {
    make: async (cli) => (await import('./commands/handoff.ts')).handoffCommand(cli),
    prints: {
      'handoff.result/1': async () => (await import('./schemas/handoff.ts')).handoffSchema,
    },
  },
  init: {
    make: async (cli) => (await import('./commands/init.ts')).initCommand(cli),
    prints: {
      'init.result/1': async () => (await import('./schemas/init.ts')).initSchema,
    },
  },
  'agent-docs': {
    reading: ['agent-docs'],
    make: async (cli) => (await import('./commands/agent-docs.ts')).agentDocsCommand(cli),
    prints: {
      'agent-docs.result/1': async () => (await import('./schemas/agent-docs.ts')).agentDocsSchema,
    },
  },
  skills: {
    make: async (cli) => (await import('./commands/skills.ts')).skillsCommand(cli),
    prints: {
      'skills.install.result/1': async () => (await import('./schemas/skills-install.ts')).skillsInstallSchema,
    },
  },
  rewards: {
    serving: ['rewards serve'],
    reading: ['rewards list', 'rewards test'],
    make: async (cli) => (await import('./commands/rewards.ts')).rewardsCommand(cli),
    prints: {
      'rewards.list.result/1': async () => (await import('./schemas/rewards-list.ts')).rewardsListSchema,
      'rewards.score/1': async () => (await import('./schemas/rewards-serve.ts')).rewardsScoreSchema,
      'rewards.serve.result/1': async () => (await import('./schemas/rewards-serve.ts')).rewardsServeSchema,
      'rewards.test.result/1': async () => (await import('./schemas/rewards-test.ts')).rewardsTestSchema,
    },
  },
  episodes: {
    serving: ['episodes serve'],
    make: async (cli) => (await import('./commands/episodes.ts')).episodesCommand(cli),
    prints: {
      'episodes.episode/1': async () => (await import('./schemas/episodes-serve.ts')).episodesEpisodeSchema,
      'episodes.request/1': async () => (await import('./schemas/episodes-serve.ts')).episodesRequestSchema,
      'episodes.serve.result/1': async () => (await import('./schemas/episodes-serve.ts')).episodesServeSchema,
    },
  },
  replay: {
    reading: ['replay'],
    make: async (cli) => (await import('./commands/replay.ts')).replayCommand(cli),
    prints: {
      'replay.result/1': async () => (await import('./schemas/replay.ts')).replaySchema,
    },
  },
  conformance: {
    reading: ['conformance'],
    make: async (cli) => (await import('./commands/conformance.ts')).conformanceCommand(cli),
    prints: {
      'conformance.result/1': async () => (await import('./schemas/conformance.ts')).conformanceSchema,
    },
  },
  presets: {
    reading: ['presets'],
    make: async (cli) => (await import('./commands/presets.ts')).presetsCommand(cli),
    prints: {
      'presets.result/1': async () => (await import('./schemas/presets.ts')).presetsSchema,
    },
  },
  data: {
    reading: ['data check'],
    make: async (cli) => (await import('./commands/data.ts')).dataCommand(cli),
    prints: {
      'data.check.result/1': async () => (await import('./schemas/data-check.ts')).dataCheckSchema,
    },
  },
  env: {
    reading: ['env check'],
    make: async (cli) => (await import('./commands/env.ts')).envCommand(cli),
    prints: {
      'env.check.result/1': async () => (await import('./schemas/env-check.ts')).envCheckSchema,
      'env.serve.result/1': async () => (await import('./schemas/env-serve.ts')).envServeSchema,
    },
  },
  preflight: {
    reading: ['preflight'],
    make: async (cli) => (await import('./commands/preflight.ts')).preflightCommand(cli),
    prints: {
      'preflight.result/1': async () => (await import('./schemas/preflight.ts')).preflightSchema,
    },
  },
  'config-schema': {
    reading: ['config-schema'],
    make: async (cli) => (await import('./commands/config-schema.ts')).configSchemaCommand(cli),
    prints: {
      'config-schema.result/1': async () => (await import('./schemas/config-schema.ts')).configSchemaSchema,
    },
  },
  schema: {
    reading: ['schema'],
    make: async (cli) => (await import('./commands/schema.ts')).schemaCommand(cli, loadSchemas),
    prints: {
      'schema.result/1': async () => (await import('./schemas/schema.ts')).schemaSchema,
    },
  },
  mcp: {
    serving: ['mcp'],
    make: async (cli) =>
      (await import('./commands/mcp.ts')).mcpCommand(cli, {
        program: () => Promise.all(Object.values(commands).map(({ make }) => make(cli))),
        schemas: loadSchemas,
        kinds: {
          serving: new Set(Object.values(commands).flatMap(({ serving = [] }) => serving)),
          reading: new Set(Object.values(commands).flatMap(({ reading = [] }) => reading)),
        },
      }),
    prints: {
      'mcp.result/1': async () => (await import('./schemas/mcp.ts')).mcpSchema,
    },
  },
  version: {
    reading: ['version'],
    make: async (cli) => (await import('./commands/version.ts')).versionCommand(cli),
    prints: {
      'version.result/1': async () => (await import('./schemas/version.ts')).versionSchema,
    },
  },
  help: {
    reading: ['help'],
    make: async (cli) => (await import('./commands/help.ts')).helpCommand(cli),
    prints: {
      'help.result/1': async () => (await import('./schemas/help.ts')).helpSchema,
    },
  },
};

/** The schemas of all objects that the command prints, by name, in alphabetical order. */
export async function loadSchemas(): Promise<Readonly<Record<string, z.ZodType>>> {
  const { errorSchema } = await import('./schemas/error.ts');
  const { briefSchemas, fieldsSchema } = await import('./brief/brief-schemas.ts');
  const ofCommands = Object.values(commands).flatMap(({ prints }) => Object.entries(prints));
  const loaded = await Promise.all(ofCommands.map(async ([name, load]) => [name, await load()] as const));
  const all: (readonly [string, z.ZodType])[] = [
    ['error/1', errorSchema],
    ['fields/1', fieldsSchema],
    ...loaded,
    ...briefSchemas(Object.fromEntries(loaded)),
  ];
  return Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
}
