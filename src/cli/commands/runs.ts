// gradus runs: the group of commands about run directories and runs in the background.
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { bestCommand } from './runs/best.ts';
import { compareCommand } from './runs/compare.ts';
import { diagnoseCommand } from './runs/diagnose.ts';
import { noteCommand, tagCommand } from './runs/labels.ts';
import { listCommand } from './runs/list.ts';
import { removeCommand } from './runs/rm.ts';
import { showCommand } from './runs/show.ts';
import { snapshotCommand } from './runs/snapshot.ts';
import { stopCommand } from './runs/stop.ts';
import { tailCommand } from './runs/tail.ts';
import { waitCommand } from './runs/wait.ts';

export function runsCommand(cli: Cli): Command {
  const runs = new Command('runs').description('list, inspect, compare, tag, follow, stop and remove runs');
  const add = [
    listCommand,
    showCommand,
    diagnoseCommand,
    compareCommand,
    bestCommand,
    tagCommand,
    noteCommand,
    removeCommand,
  ];
  for (const make of [...add, waitCommand, tailCommand, stopCommand, snapshotCommand]) runs.addCommand(make(cli));
  return runs;
}
