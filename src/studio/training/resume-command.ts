// The command that goes on with a run, whatever was given on the command line when it began.
import { join } from 'node:path';
import { shellWord } from '../../common/shell-word.ts';
import { runFiles } from '../../runs/layout.ts';

export function resumeCommand(directory: string): string {
  return `gradus train ${shellWord(join(directory, runFiles.resolvedConfig))} --out ${shellWord(directory)} --resume`;
}
