// gradus runs: the group of commands about run directories and runs in the background.
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import type { SchemaTools } from '../schemas.ts';
import * as best from './runs/best.ts';
import * as compare from './runs/compare.ts';
import * as diagnose from './runs/diagnose.ts';
import * as labels from './runs/labels.ts';
import * as list from './runs/list.ts';
import * as rm from './runs/rm.ts';
import * as show from './runs/show.ts';
import * as snapshot from './runs/snapshot.ts';
import * as stop from './runs/stop.ts';
import * as tail from './runs/tail.ts';
import * as wait from './runs/wait.ts';

const modules = [best, compare, diagnose, labels, list, rm, show, snapshot, stop, tail, wait];

export function makeCommand(cli: Cli): Command {
  const runs = new Command('runs').description('list, inspect, compare, tag, follow, stop and remove runs');
  const before = [list, show, diagnose, compare, best].map(({ makeCommand }) => makeCommand);
  const behind = [rm, wait, tail, stop, snapshot].map(({ makeCommand }) => makeCommand);
  for (const make of [...before, labels.tagCommand, labels.noteCommand, ...behind]) runs.addCommand(make(cli));
  return runs;
}

/** The schemas of what they print under --json. */
export async function prints(tools: SchemaTools) {
  return (await Promise.all(modules.map(({ prints }) => prints(tools)))).flat();
}
