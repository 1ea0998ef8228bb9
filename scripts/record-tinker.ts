// Records src/backends/tinker/fixtures/session.json: what `tinkerSession` says to skyrl-tx, and what that answers. It needs what python/tinker-setup.sh makes.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTinkerServer, writeServedModel } from '../test/tinker-server.ts';
import { type Exchange, type Recording, tinkerSession } from '../test/tinker-session.ts';

const fixtures = join(import.meta.dirname, '..', 'src', 'backends', 'tinker', 'fixtures');
const folder = mkdtempSync(join(tmpdir(), 'gradus-record-tinker-'));
writeServedModel(folder);
const server = await startTinkerServer(folder);
const exchanges: Exchange[] = [];

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

const proxy = createServer(async (request, response) => {
  const { method = 'GET', url: path = '/' } = request;
  const body = await bodyOf(request);
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(server.url + path, { method, headers, ...(body !== '' && { body }) });
  const text = await answer.text();
  // Beats come when they come.
  if (!path.endsWith('session_heartbeat')) {
    const exchange = { method, path, request: body === '' ? null : JSON.parse(body), response: JSON.parse(text) };
    exchanges.push({ ...exchange, status: answer.status });
  }
  response.writeHead(answer.status, headers).end(text);
}).listen(0, '127.0.0.1');
await new Promise((done) => proxy.once('listening', done));

try {
  const found = await tinkerSession(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, folder);
  // The last request, to unload the model, is not waited for.
  while (!exchanges.at(-1)!.path.endsWith('unload_model')) await new Promise((done) => setTimeout(done, 100));
  const about =
    'Written by scripts/record-tinker.ts: tinkerSession (test/tinker-session.ts) with skyrl-tx 0.3.0, jax on the CPU, and the model of test/tiny-model.ts; without heartbeats.';
  const recording: Recording = { about, exchanges, found };
  mkdirSync(fixtures, { recursive: true });
  writeFileSync(join(fixtures, 'session.json'), `${JSON.stringify(recording, null, 1)}\n`);
} finally {
  proxy.close();
  proxy.closeAllConnections();
  server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
