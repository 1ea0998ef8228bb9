// gradus dashboard as a process: it reports its address, answers there, and ends cleanly when asked to.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { startDashboard } from './dashboard-process.ts';
import { writeLiveRun } from './dashboard-runs.ts';
import { gradus, onlyObject } from './gradus.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder('dashboard');
writeLiveRun(join(folder, 'runs', 'live'));

/** Of every file below a folder. */
function hashes(directory: string): string[] {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .map((path) => `${path} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`it answers until ${signal}, and writes nothing`, async () => {
    const before = hashes(folder);
    const { url, result, stop } = await startDashboard(folder, '--json');
    assert.deepEqual(result, { ok: true, schema: 'dashboard.result/1', command: 'dashboard', url, root: 'runs' });
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
    const answer = (await (await fetch(`${url}/api/runs`)).json()) as { runs: { id: string }[] };
    assert.deepEqual(
      answer.runs.map(({ id }) => id),
      ['live'],
    );
    const { cursor } = (await (await fetch(`${url}/api/runs/live/curves`)).json()) as { cursor: string };
    // An open stream does not keep it.
    const stream = await fetch(`${url}/api/runs/live/follow?after=${cursor}`);
    assert.equal(stream.headers.get('content-type'), 'text/event-stream');
    assert.match(await (await fetch(url)).text(), /<title>Gradus<\/title>/);
    const finished = await stop(signal);
    assert.equal(finished.code, 0, finished.stderr);
    assert.deepEqual(JSON.parse(finished.stdout), result);
    await stream.body?.cancel().catch(() => {});
    assert.deepEqual(hashes(folder), before);
  });
}

test('the error for a taken port is one line, with a code and a hint', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { code, stdout } = await gradus(['dashboard', '--port', String(port), '--json'], { cwd: folder });
  assert.equal(code, 2);
  assert.equal((onlyObject(stdout).error as { code: string }).code, 'PORT_TAKEN');
});
