// The command that resumes a run from what its directory has, whatever options it was started with.
import { join } from 'node:path';
import { shellWord } from '../common/shell-word.ts';
import { runFiles } from '../runs/layout.ts';

export function resumeCommand(directory: string): string {
  return `gradus train ${shellWord(join(directory, runFiles.resolvedConfig))} --out ${shellWord(directory)} --resume`;
}
