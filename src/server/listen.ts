// Starts an HTTP server at an address of this machine.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { GradusError, messageOf } from '../errors.ts';

export interface ListenOptions {
  /** @default '127.0.0.1', which only this machine reaches */
  readonly host?: string;
  /** 0 chooses any free port. */
  readonly port: number;
}

export interface Listening {
  readonly url: string;
  /** Accepts no more requests and cancels open ones. */
  close(): Promise<void>;
}

/** Throws `PORT_TAKEN`, `ADDRESS_INVALID`. */
export async function listen(app: Hono, { host = '127.0.0.1', port }: ListenOptions): Promise<Listening> {
  const server = createServer(getRequestListener(app.fetch));
  server.listen(port, host);
  await once(server, 'listening').catch((error) => {
    throw addressError(host, port, error);
  });
  const { port: taken } = server.address() as AddressInfo;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

function addressError(host: string, port: number, error: unknown): GradusError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new GradusError('PORT_TAKEN', `port ${port} of ${host} is taken`, {
      hint: 'choose another --port; 0 takes any that is free',
      path: '--port',
    });
  }
  return new GradusError('ADDRESS_INVALID', `cannot listen on ${host}, port ${port}: ${messageOf(error)}`, {
    hint: 'give an address of this machine with --host; ports below 1024 are for administrators',
    path: code === 'EACCES' ? '--port' : '--host',
  });
}
