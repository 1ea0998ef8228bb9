// Holds the subjects of commits to 72 characters, so that they are read whole in a log. Commits before the rule are left alone.
import { execFileSync } from 'node:child_process';

/** The last commit before the rule. */
const BEFORE = 'f842d8e69baa';
const LONGEST = 72;

function git(...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

const log = git('cat-file', '-e', BEFORE) === undefined ? undefined : git('log', '--format=%h %s', `${BEFORE}..HEAD`);
if (log === undefined) {
  console.warn(`check-history: NOT CHECKED: there is no history here that goes back to ${BEFORE}`);
} else {
  const long = log.split('\n').filter((line) => line.slice(line.indexOf(' ') + 1).length > LONGEST);
  for (const line of long) console.error(`check-history: a subject of more than ${LONGEST} characters: ${line}`);
  if (long.length > 0) process.exitCode = 1;
}
