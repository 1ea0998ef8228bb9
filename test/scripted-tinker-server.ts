// A Tinker server with a script, for what a real one does rarely: refuse, fail, be busy, go away.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { tinkerClient } from '../src/backends/tinker/tinker-client.ts';

/** Bytes are protobuf, a text is sent as it is, anything else is JSON. */
export type Reply = { readonly status?: number; readonly body: unknown } | ((response: ServerResponse) => void);

export interface Asked {
  readonly route: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A server with a list of replies for each route, the last of which is repeated, and its client. Without a list, the route is unknown. */
export async function answering(t: TestContext, replies: Readonly<Record<string, readonly Reply[]>>, timeout = 5000) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const route = request.url!.replace('/api/v1/', '');
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const before = asked.filter((other) => other.route === route).length;
      asked.push({ route, headers: request.headers, body: Buffer.concat(parts) });
      const list = replies[route] ?? [{ status: 404, body: { detail: 'Not Found' } }];
      const reply = list[Math.min(before, list.length - 1)]!;
      if (typeof reply === 'function') return reply(response);
      const { status = 200, body } = reply;
      if (body instanceof Uint8Array) {
        return response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end(body);
      }
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const count = (route: string) => asked.filter((request) => request.route === route).length;
  return { client: tinkerClient({ url, apiKey: 'tml-secret', timeout }), asked, count };
}
