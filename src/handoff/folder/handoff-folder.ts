// The folder of a hand-off: what may be overwritten, and its files.
import { chmodSync, copyFileSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { option } from '../../common/words.ts';
import { userFunctions } from '../../config/reward-names.ts';
import type { Config } from '../../config/schema.ts';
import type { Problems } from '../../data/problems.ts';
import { promptOf } from '../../data/row-prompt.ts';
import { GradusError } from '../../errors.ts';
import { writeParquet } from '../../formats/parquet-writer.ts';
import { fillFolder, isVacant } from '../../runs/fill-folder.ts';
import { replaceJson } from '../../runs/replace-file.ts';
import { pythonFolder } from '../../workers/python-folder.ts';
import { type CodeFolders, copyCode } from './code-folders.ts';
import type { HandoffTarget } from './handoff-target.ts';

/** Throws `HANDOFF_EXISTS` unless the folder is new, empty, or an earlier hand-off to the same system that may be written over. */
export function assertNew(out: string, overwrite: boolean, { pythonFiles }: HandoffTarget): void {
  if (isVacant(out)) return;
  const own = ['gradus.json', ...pythonFiles].every((file) => existsSync(join(out, basename(file))));
  if (overwrite && own) return;
  throw new GradusError('HANDOFF_EXISTS', `${out} is there already`, {
    hint: overwrite
      ? 'it is no hand-off to this system: name another folder'
      : `name another folder, or add ${option('overwrite', true)}`,
    path: out,
  });
}

export interface FolderContent {
  readonly target: HandoffTarget;
  readonly config: Config;
  readonly problems: Problems;
  readonly code: CodeFolders;
  /** Further texts, by the names of their files. */
  readonly texts: Readonly<Record<string, string>>;
}

/** Writes data, rewards, their configuration, and texts. Returns the names of all files, sorted. */
export async function writeFolder(out: string, content: FolderContent, overwrite: boolean): Promise<string[]> {
  await fillFolder(
    resolve(out),
    (target) => writeFiles(target, content),
    () => assertNew(out, overwrite, content.target),
  );
  // Files of an earlier hand-off would be taken for this one's.
  if (userFunctions(content.config).length === 0) rmSync(join(out, 'code'), { recursive: true, force: true });
  if (content.problems.eval.length === 0) rmSync(join(out, 'eval.parquet'), { force: true });
  return readdirSync(out).sort();
}

function writeFiles(folder: string, { target, config, problems, code, texts }: FolderContent): void {
  const options = {
    source: config.dataset ?? config.taskset!,
    answerColumn: config.answer_column,
    prompt: promptOf(config),
  };
  for (const split of ['train', 'eval'] as const) {
    if (problems[split].length === 0) continue;
    const rows = target.rows(problems[split], { ...options, split });
    writeFileSync(join(folder, `${split}.parquet`), writeParquet(rows, target.columns));
  }
  replaceJson(join(folder, 'gradus.json'), copyCode(config, code, folder));
  for (const file of target.pythonFiles) copyFileSync(join(pythonFolder, file), join(folder, basename(file)));
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  chmodSync(join(folder, 'run.sh'), 0o755);
}
