// The backend's whole conversation with a server, against a recording of skyrl-tx: requests are compared, and recorded answers are parsed.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type Recording, tinkerSession } from '../../../test/tinker-session.ts';

const recording: Recording = JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures', 'session.json'), 'utf8'));

test('a session says what the recorded one said, and finds what it found', async (t) => {
  const left = [...recording.exchanges];
  const unexpected: unknown[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const [method, path] = [request.method, request.url];
      const body = text === '' ? null : JSON.parse(text);
      if (path!.endsWith('session_heartbeat')) return response.end('{}');
      // Samples are requested concurrently, in any order.
      const at = left.findIndex(
        (exchange) => exchange.method === method && exchange.path === path && isDeepStrictEqual(exchange.request, body),
      );
      const [exchange] = at < 0 ? [] : left.splice(at, 1);
      if (!exchange) unexpected.push({ method, path, body });
      return response
        .writeHead(exchange?.status ?? 422)
        .end(JSON.stringify(exchange?.response ?? { detail: 'not recorded' }));
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
});
