// Records src/backends/tinker/fixtures/session-NAME.json: what `tinkerSession` says to a Tinker server, and what that answers.
// node scripts/record-tinker.ts NAME [URL]: without a URL, to the SkyRL of python/tinker-setup.sh, which it starts. Another server must call the model of
// `writeServedModel` `model`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTinkerServer, writeServedModel } from '../test/tinker-server.ts';
import { contentOf, type Exchange, type Recording, tinkerSession } from '../test/tinker-session.ts';

const [name, at] = process.argv.slice(2);
if (name === undefined) throw new Error('usage: node scripts/record-tinker.ts NAME [URL]');
const fixtures = join(import.meta.dirname, '..', 'src', 'backends', 'tinker', 'fixtures');
const folder = mkdtempSync(join(tmpdir(), 'gradus-record-tinker-'));
writeServedModel(folder);
const server = at === undefined ? await startTinkerServer(folder) : { url: at, stop() {} };
const exchanges: Exchange[] = [];

async function bodyOf(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

const proxy = createServer(async (request, response) => {
  const { method = 'GET', url: path = '/', headers } = request;
  const body = await bodyOf(request);
  const answer = await fetch(server.url + path, {
    method,
    headers: { accept: headers.accept ?? '*/*', ...(body.length > 0 && { 'content-type': headers['content-type']! }) },
    ...(body.length > 0 && { body }),
  }).catch(() => undefined);
  // SkyRL closes a connection on which it failed; the client asks again.
  if (!answer) return void response.destroy();
  const type = answer.headers.get('content-type') ?? '';
  const content = Buffer.from(await answer.arrayBuffer());
  // Beats come when they come.
  if (!path.endsWith('session_heartbeat')) {
    const asked = contentOf(headers['content-type'], body);
    exchanges.push({ method, path, request: asked, status: answer.status, response: contentOf(type, content) });
  }
  response.writeHead(answer.status, { 'content-type': type }).end(content);
}).listen(0, '127.0.0.1');
await new Promise((done) => proxy.once('listening', done));

try {
  const found = await tinkerSession(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, folder);
  // The last request, to unload the model, is not waited for.
  while (!exchanges.at(-1)!.path.endsWith('unload_model')) await new Promise((done) => setTimeout(done, 100));
  const about = `Written by scripts/record-tinker.ts: tinkerSession (test/tinker-session.ts) with ${name} on a CPU, and the model of test/tiny-model.ts; without heartbeats.`;
  const recording: Recording = { about, exchanges, found };
  mkdirSync(fixtures, { recursive: true });
  writeFileSync(join(fixtures, `session-${name}.json`), `${JSON.stringify(recording, null, 1)}\n`);
} finally {
  proxy.close();
  proxy.closeAllConnections();
  server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
