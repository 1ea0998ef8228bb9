// Refuses requests that name another host than this server: a page elsewhere whose name was made to point here (DNS rebinding) could read all.
import { isIP } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import type { MiddlewareHandler } from 'hono';
import { GradusError } from '../errors.ts';

const loopback = ['localhost', '127.0.0.1', '[::1]'];
/** Addresses that stand for all of this machine. */
const everywhere = ['0.0.0.0', '::'];

/**
 * Throws `HOST_NOT_ALLOWED` unless the header Host is the address that is listened on, or one of loopback, with the port of the connection. Where
 * all addresses are listened on, any address in digits will do: no name was resolved for it.
 */
export function ownHost(host: string): MiddlewareHandler {
  return async (context, next) => {
    const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
    const port = incoming?.socket.localPort;
    const given = context.req.header('host');
    if (given === undefined || !isOwn(given.toLowerCase(), host, port)) {
      throw new GradusError('HOST_NOT_ALLOWED', `the request is for ${given ?? 'no host'}, which is not this server`, {
        hint: 'open the address that the command printed',
      });
    }
    await next();
  };
}

/** @param port not compared if it is unknown */
function isOwn(given: string, host: string, port: number | undefined): boolean {
  const [, name, ofHost] = /^(\[[\da-f:.]+\]|[^:[\]]+)(?::(\d+))?$/.exec(given) ?? [];
  if (name === undefined || (port !== undefined && Number(ofHost ?? 80) !== port)) return false;
  const own = host.includes(':') ? `[${host}]` : host;
  if (loopback.includes(name) || name === own.toLowerCase()) return true;
  return everywhere.includes(host) && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
}
