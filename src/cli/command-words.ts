// The words of the command line: what `src/common/words.ts` asks for, as commands and flags to type.
import { join } from 'node:path';
import { shellWord } from '../common/shell-word.ts';
import type { CallOptions, Deed, OptionName, OptionValue, Words } from '../common/words.ts';
import { runFiles } from '../runs/layout.ts';

const commands: Readonly<Record<Deed, string>> = {
  train: 'train',
  evaluate: 'eval',
  sample: 'sample',
  show: 'runs show',
  export: 'export',
  compare: 'runs compare',
  diagnose: 'runs diagnose',
  listRuns: 'runs list',
  stop: 'runs stop',
  wait: 'runs wait',
  follow: 'runs tail',
  watch: 'dashboard',
  preflight: 'preflight',
  checkEnvironment: 'env check',
  listRewards: 'rewards list',
  testRewards: 'rewards test',
  serveRewards: 'rewards serve',
  listKeys: 'config-schema',
  listPresets: 'presets',
  sweep: 'sweep',
  tag: 'runs tag',
  handOff: 'handoff',
  checkMachine: 'doctor',
  begin: 'init',
  guide: 'agent-docs',
};

const flags: Readonly<Record<OptionName, string>> = {
  apiKey: '--api-key-env',
  backend: '--backend',
  checkpoint: '--checkpoint',
  config: '--config',
  dtype: '--dtype',
  dryRun: '--dry-run',
  eval: '--eval',
  fix: '--fix',
  format: '--format',
  host: '--host',
  k: '--k',
  merged: '--merge',
  minP: '--min-p',
  name: '--name',
  out: '--out',
  overwrite: '--overwrite',
  port: '--port',
  preflight: '--preflight',
  problems: '--n',
  profile: '--profile',
  prompt: '--prompt',
  require: '--require',
  resume: '--resume',
  reward: '--reward',
  rewardConfig: '--reward-config',
  settings: '--set',
  split: '--split',
  over: '--over',
  filter: '--filter',
  sort: '--sort',
  trials: '--trials',
  method: '--method',
  temperature: '--temperature',
  to: '--to',
  topK: '--top-k',
  topP: '--top-p',
  yes: '--yes',
};

function option(name: OptionName, value: OptionValue = true): string {
  if (typeof value === 'string') return `${flags[name]} ${shellWord(value)}`;
  if (typeof value !== 'boolean') return value.map((one) => option(name, one)).join(' ');
  return value ? flags[name] : `--no-${flags[name].slice(2)}`;
}

/** A command to type. @param rest further words, which are typed as they are */
export function command(deed: Deed, subject?: string, options: CallOptions = {}, ...rest: readonly string[]): string {
  const given = Object.entries(options).map(([name, value]) => option(name as OptionName, value));
  return ['gradus', commands[deed], ...(subject === undefined ? [] : [shellWord(subject)]), ...given, ...rest].join(
    ' ',
  );
}

export const commandWords: Words = {
  verb: (deed) => commands[deed],
  call: (deed, subject, options) => command(deed, subject, options),
  option,
  // From what its directory has, whatever options it was started with.
  resuming: (directory) =>
    `${command('train', join(directory, runFiles.resolvedConfig), { out: directory, resume: true })} goes on`,
};
