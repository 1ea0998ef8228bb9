// Runs the tests of some files: node scripts/test.ts --at-once 3 --minutes 10 '{src,test}/**/*.slow.test.ts'. Fails if a test does.
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    // How many files run at a time at least, also on few cores: many wait for processes that they have started.
    'at-once': { type: 'string', default: '2' },
    // How long a test may take.
    minutes: { type: 'string', default: '1' },
  },
});

/** Files that take longest begin first, or one of them would be left alone at the end: whole runs, in test/, then others that start processes. */
const rank = (file: string) => (/\.(slow|engine)\./.test(file) ? 0 : 2) + (file.startsWith('test') ? 0 : 1);
const ranked = globSync(positionals).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));

/** Files of a room wait for others alike, or compute alike. Taken from both ends in turn, some compute while others wait. */
const slow = ranked.filter((file) => file.includes('.slow.'));
const inTurn = slow.map((_, i) => (i % 2 === 0 ? slow[i / 2] : slow.at(-(i + 1) / 2))!);
const files = [...inTurn, ...ranked.filter((file) => !file.includes('.slow.'))];
if (files.length === 0) throw new Error(`no files: ${positionals.join(' ')}`);

process.env.NODE_COMPILE_CACHE = join(import.meta.dirname, '..', '.cache', 'node');
const tests = run({
  files,
  concurrency: Math.max(Number(values['at-once']), availableParallelism() - 1),
  timeout: 60_000 * Number(values.minutes),
});
tests.on('test:summary', ({ success }) => {
  if (!success) process.exitCode = 1;
});
tests.compose(spec).pipe(process.stdout);
