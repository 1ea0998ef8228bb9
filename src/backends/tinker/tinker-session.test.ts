// The backend's whole conversation with a server, against recordings of real ones: requests are compared, and recorded answers are parsed.
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { contentOf, type Recording, tinkerSession } from '../../../test/tinker-session.ts';

for (const file of globSync('fixtures/session-*.json', { cwd: import.meta.dirname }).sort()) {
  test(`${file}: a session sends what the recorded one sent, and gets the same results`, (t) => replay(t, file));
}

async function replay(t: TestContext, file: string): Promise<void> {
  const recording: Recording = JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8'));
  const left = [...recording.exchanges];
  const unexpected: unknown[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const [method, path] = [request.method, request.url];
      const body = contentOf(request.headers['content-type'], Buffer.concat(parts));
      if (path!.endsWith('session_heartbeat')) return response.end('{}');
      // Samples are requested concurrently, in any order.
      const at = left.findIndex(
        (exchange) => exchange.method === method && exchange.path === path && isDeepStrictEqual(exchange.request, body),
      );
      const [exchange] = at < 0 ? [] : left.splice(at, 1);
      if (!exchange) unexpected.push({ method, path, body });
      const answer = exchange?.response ?? { json: { detail: 'not recorded' } };
      const [type, content] =
        'protobuf' in answer
          ? ['application/x-protobuf', Buffer.from(answer.protobuf, 'base64')]
          : ['application/json', 'json' in answer ? JSON.stringify(answer.json) : answer.text];
      return response.writeHead(exchange?.status ?? 422, { 'content-type': type }).end(content);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const folder = mkdtempSync(join(tmpdir(), 'gradus-tinker-session-'));
  t.after(() => {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true });
  });

  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const found = await tinkerSession(url, folder).catch((error) => error);
  assert.deepEqual(unexpected, []);
  assert.deepEqual(JSON.parse(JSON.stringify(found)), recording.found);
  while (left.length > 0) await new Promise((done) => setTimeout(done, 5)); // the last request is not waited for
}
