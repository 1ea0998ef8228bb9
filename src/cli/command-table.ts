// The commands, in the order of the help. Their modules are loaded when they are needed.
import type { Command } from 'commander';
import type { z } from 'zod';
import type { AllCommands, Cli } from './cli.ts';
import type { Printed, SchemaTools } from './schemas.ts';

/** What the module of a command exports. */
interface CommandModule {
  readonly makeCommand: (cli: Cli, all: AllCommands) => Command;
  /** The schemas of the objects that it prints under --json. Adding a key keeps the number of a schema; removing or changing one raises it. */
  readonly prints: (tools: SchemaTools) => Promise<readonly Printed[]>;
}

interface CommandRow {
  readonly load: () => Promise<CommandModule>;
  /** The whole names of commands that run until they are stopped. */
  readonly serving?: readonly string[];
  /** Likewise, those that only read: they change no files but caches. */
  readonly reading?: readonly string[];
}

export const commands: Readonly<Record<string, CommandRow>> = {
  train: { load: () => import('./commands/train.ts') },
  sweep: { load: () => import('./commands/sweep.ts') },
  eval: { load: () => import('./commands/eval.ts') },
  sample: { load: () => import('./commands/sample.ts'), reading: ['sample'] },
  serve: { load: () => import('./commands/serve.ts'), serving: ['serve'] },
  export: { load: () => import('./commands/export.ts') },
  runs: {
    load: () => import('./commands/runs.ts'),
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
  },
  report: { load: () => import('./commands/report.ts') },
  dashboard: { load: () => import('./commands/dashboard.ts'), serving: ['dashboard'] },
  demo: { load: () => import('./commands/demo.ts') },
  doctor: { load: () => import('./commands/doctor.ts') },
  'gpu-train': { load: () => import('./commands/gpu-train.ts'), reading: ['gpu-train'] },
  plan: { load: () => import('./commands/plan.ts'), reading: ['plan'] },
  handoff: { load: () => import('./commands/handoff.ts') },
  init: { load: () => import('./commands/init.ts') },
  'agent-docs': { load: () => import('./commands/agent-docs.ts'), reading: ['agent-docs'] },
  skills: { load: () => import('./commands/skills.ts') },
  rewards: {
    load: () => import('./commands/rewards.ts'),
    serving: ['rewards serve'],
    reading: ['rewards list', 'rewards test'],
  },
  episodes: { load: () => import('./commands/episodes.ts'), serving: ['episodes serve'] },
  replay: { load: () => import('./commands/replay.ts'), reading: ['replay'] },
  conformance: { load: () => import('./commands/conformance.ts'), reading: ['conformance'] },
  presets: { load: () => import('./commands/presets.ts'), reading: ['presets'] },
  data: { load: () => import('./commands/data.ts'), reading: ['data check'] },
  env: { load: () => import('./commands/env.ts'), serving: ['env serve'], reading: ['env check'] },
  preflight: { load: () => import('./commands/preflight.ts'), reading: ['preflight'] },
  'config-schema': { load: () => import('./commands/config-schema.ts'), reading: ['config-schema'] },
  schema: { load: () => import('./commands/schema.ts'), reading: ['schema'] },
  mcp: { load: () => import('./commands/mcp.ts'), serving: ['mcp'] },
  version: { load: () => import('./commands/version.ts'), reading: ['version'] },
  help: { load: () => import('./commands/help.ts'), reading: ['help'] },
};

/** Makes the commands of some rows. */
export function makeCommands(cli: Cli, rows = Object.values(commands)): Promise<Command[]> {
  const all: AllCommands = {
    program: () => makeCommands(cli),
    schemas: loadSchemas,
    kinds: {
      serving: new Set(Object.values(commands).flatMap(({ serving = [] }) => serving)),
      reading: new Set(Object.values(commands).flatMap(({ reading = [] }) => reading)),
    },
  };
  return Promise.all(rows.map(async ({ load }) => (await load()).makeCommand(cli, all)));
}

/** The schemas of all objects that the command prints, by name, in alphabetical order. */
export async function loadSchemas(): Promise<Readonly<Record<string, z.ZodType>>> {
  const { named, schemaTools } = await import('./schemas.ts');
  const { briefSchemas, fieldsSchema } = await import('./brief/brief-schemas.ts');
  const printed = await Promise.all(
    Object.values(commands).map(async ({ load }) => (await load()).prints(schemaTools)),
  );
  const whole = named([schemaTools.error, fieldsSchema, ...printed.flat()]);
  const all = [...whole, ...briefSchemas(Object.fromEntries(whole))];
  return Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
}
