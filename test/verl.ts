// Asks verl's own code, in the environment that python/verl-setup.sh makes.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** Questions and answers as python/oracles/ask_verl.py describes them. `reward.py` finds this checkout's `gradus`. */
export function askVerl<A>(question: object, environment: Readonly<Record<string, string>> = {}): A {
  const answer = execFileSync(join(root, '.cache/verl-venv/bin/python'), [join(root, 'python/oracles/ask_verl.py')], {
    input: JSON.stringify(question),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...environment, GRADUS: `'${process.execPath}' '${join(root, 'bin/gradus')}'` },
  });
  // Its libraries print before.
  return JSON.parse(answer.trimEnd().split('\n').at(-1)!) as A;
}
