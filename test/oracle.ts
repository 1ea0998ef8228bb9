// Asks python/oracles in one process for all tests of a file: importing PyTorch and transformers takes longer than most answers.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { after } from 'node:test';
import { oraclePython } from './trl-python.ts';

let oracle: ChildProcessByStdio<Writable, Readable, null> | undefined;
let answers: AsyncIterator<string>;
let last: Promise<unknown> = Promise.resolve();

after(() => oracle?.stdin.end());

/** What a script of python/oracles prints, given its arguments and its input. */
export function askOracle(script: string, args: readonly string[], input = ''): Promise<string> {
  const answer = last.then(() => answerTo(`${JSON.stringify({ script, arguments: args, input })}\n`));
  last = answer.catch(() => undefined);
  return answer;
}

async function answerTo(line: string): Promise<string> {
  if (oracle === undefined) {
    const env = { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' }; // tests run side by side
    const file = join(import.meta.dirname, '..', 'python', 'oracles', 'answer_all.py');
    oracle = spawn(oraclePython, [file], { env, stdio: ['pipe', 'pipe', 'ignore'] });
    answers = createInterface({ input: oracle.stdout })[Symbol.asyncIterator]();
  }
  oracle.stdin.write(line);
  const { value, done } = await answers.next();
  if (done) throw new Error(`the oracle has ended, ${oracle.exitCode ?? oracle.signalCode}`);
  const { output, error } = JSON.parse(value) as { readonly output?: string; readonly error?: string };
  if (output === undefined) throw new Error(error);
  return output;
}
