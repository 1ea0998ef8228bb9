// Keys never reach records, logs, output or trackers, even if servers and the user's own code repeat them: the command, against such servers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gradus, onlyObject } from './gradus.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder('keys');
const key = 'sk-live-4f9Qz/81+Lw=secret';
const password = 'pässword-with-Ünicode%';
const netrcKey = '0123456789abcdef0123456789abcdef01234567';
const environment = { OPENAI_API_KEY: key, MLFLOW_TRACKING_PASSWORD: password, HOME: join(folder, 'home') };
mkdirSync(environment.HOME);
writeFileSync(join(environment.HOME, '.netrc'), `machine api.wandb.ai\n  login user\n  password ${netrcKey}\n`);

const received: { headers: string; body: string }[] = [];
/** Answers each request with its headers, as debugging proxies do, and pads them so that a limit may cut within the key. */
const server = createServer((request: IncomingMessage, response: ServerResponse) => {
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    received.push({ headers: JSON.stringify(request.headers), body });
    const { authorization, 'x-api-key': own } = request.headers;
    const padding = Number(new URL(request.url!, 'http://x').pathname.split('/')[1]);
    response.writeHead(400, { 'content-type': 'application/json' });
    const error = `${'.'.repeat(padding || 0)}bad ${authorization ?? own}`;
    response.end(JSON.stringify({ error, message: error, detail: error, error_code: 'BAD' }));
  });
}).listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Throws if a text holds a key, or the beginning of one, in any form. */
function assertClean(text: string, where: string): void {
  const basic = Buffer.from(`ann:${password}`).toString('base64').slice(8);
  for (const part of ['sk-live', '4f9Qz', 'pässword', 'nicode', basic, encodeURIComponent(key), netrcKey])
    assert.ok(!text.includes(part), `${where} has ${part}: ${text.slice(0, 2000)}`);
}

function assertFolderClean(path: string): void {
  const files = globSync('**/*', { cwd: path, exclude: () => false }).filter((file) =>
    statSync(join(path, file)).isFile(),
  );
  assert.ok(files.length > 5);
  for (const file of files) assertClean(readFileSync(join(path, file), 'utf8'), file);
}

test('a judge that repeats the header with the key in its answer', async () => {
  writeFileSync(join(folder, 'cases.jsonl'), '{"prompt": "2 + 2?", "completion": "4"}\n');
  // The answer is cut after 200 characters: at every place within the key.
  for (const padding of [0, 150, 160, 165, 170]) {
    const reward = {
      base_url: `${url()}/${padding}`,
      model: 'm',
      rubric: 'r',
      api_key_env: 'OPENAI_API_KEY',
      retries: 0,
    };
    const args = ['rewards', 'test', '--reward', 'llm_judge', '--input', 'cases.jsonl', '--json'];
    const { stdout, stderr } = await gradus([...args, '--reward-config', JSON.stringify(reward)], {
      cwd: folder,
      env: environment,
    });
    assert.match(JSON.stringify(onlyObject(stdout)), /JUDGE_FAILED|gave no score/);
    assertClean(stdout + stderr, `padding ${padding}`);
  }
  assert.ok(
    received.some(({ headers }) => headers.includes(key)),
    'the key was sent',
  );
});

test('an MLflow server that repeats Basic authorization', async () => {
  const config = join(import.meta.dirname, '..', 'configs', 'toy-grpo.yaml');
  const env = { ...environment, MLFLOW_TRACKING_URI: url(), MLFLOW_TRACKING_USERNAME: 'ann' };
  const args = ['train', config, '--set', 'trackers=[mlflow]', '--set', 'max_steps=2', '--out', join(folder, 'mlflow')];
  const { code, stdout, stderr } = await gradus([...args, '--json'], { cwd: folder, env });
  assert.notEqual(code, 0);
  assert.match(stdout, /MLFLOW_REFUSED/);
  assertClean(stdout + stderr, 'the command');
});

for (const extension of ['ts', 'py']) {
  test(`a reward in ${extension} that prints its environment and throws it leaves no key in the run or its log`, async () => {
    const codes = {
      ts: `export const score = ({ completions }) => {
        process.stdout.write('out ' + process.env.OPENAI_API_KEY.slice(0, 9));
        process.stdout.write(process.env.OPENAI_API_KEY.slice(9) + '\\n');
        console.error(JSON.stringify(process.env), ${JSON.stringify(netrcKey)});
        if (completions.length % 2 === 0) throw new Error('x'.repeat(8180) + process.env.OPENAI_API_KEY);
        return completions.map(() => 1);
      };`,
      py: `import os, sys
def score(completions, **columns):
    print('out', os.environ['OPENAI_API_KEY'], flush=True)
    print(dict(os.environ), file=sys.stderr, flush=True)
    raise ValueError(os.environ['MLFLOW_TRACKING_PASSWORD'] + os.environ['OPENAI_API_KEY'])
`,
    };
    const file = join(folder, `mine.${extension}`);
    writeFileSync(file, codes[extension as keyof typeof codes]);
    const config = {
      backend: 'builtin',
      taskset: 'digit-sum',
      taskset_config: { digits: 2, vocab: 10, target: 9, scale: 4 },
      reward: `./mine.${extension}:score`,
      prompts_per_step: 1,
      num_generations: 4,
      max_steps: 1,
      eval: null,
      chat_template_kwargs: undefined,
    };
    writeFileSync(join(folder, 'run.yaml'), JSON.stringify(config));
    const out = join(folder, `run-${extension}`);
    const { stdout, stderr } = await gradus(['train', 'run.yaml', '--out', out, '--no-preflight', '--json'], {
      cwd: folder,
      env: environment,
    });
    assert.match(stderr, /out \[redacted\]/);
    assert.equal(onlyObject(stdout).ok, false);
    assertClean(stdout, 'stdout');
    assertClean(stderr, 'stderr');
    assertFolderClean(out);
  });
}
