// Serves an environment over OpenEnv's protocol, so that trainers in other languages play it: a WebSocket for each episode's session.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Hono } from 'hono';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Config } from '../config/schema.ts';
import { GradusError, messageOf } from '../errors.ts';
import { listen } from '../http/listen.ts';
import type { Listening } from '../http/listening.ts';
import { assertOwnPage, ownHost } from '../http/own-host.ts';
import { openTask, type Task } from '../setup/task.ts';
import { Session, schemas } from './session.ts';

export interface ServeEnvironmentOptions {
  /** @default '127.0.0.1', which only this machine reaches */
  readonly host?: string;
  /** 0 chooses any free port. @default 8001 */
  readonly port?: number;
  /** How many sessions may be open at once. Further ones get an error and are closed. @default 64 */
  readonly maxSessions?: number;
}

export interface EnvironmentServing extends Listening {
  /** How many problems it has. */
  readonly problems: { readonly train: number; readonly eval: number };
}

/** The longest message of a client, in bytes. */
const LONGEST_MESSAGE = 4 * 1024 * 1024;
/** Milliseconds between pings. A client that does not answer one is gone. */
const HEARTBEAT = 30_000;

/**
 * Opens the environment, problems and rewards of a configuration, without a model, and serves them until it is closed. Throws `ENVIRONMENT_NOT_SERVED`, `PORT_TAKEN`,
 * `ADDRESS_INVALID`, and the errors of opening a task.
 */
export async function serveEnvironment(
  config: Config,
  { host = '127.0.0.1', port = 8001, maxSessions = 64 }: ServeEnvironmentOptions = {},
): Promise<EnvironmentServing> {
  const task = await openTask(config);
  assertServable(task);
  let index = 0;
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LONGEST_MESSAGE });
  sockets.on('connection', (socket) => {
    if (sockets.clients.size > maxSessions) return refuse(socket, maxSessions);
    converse(socket, new Session({ task, config, nextIndex: () => index++ }));
  });
  const heartbeat = setInterval(() => sockets.clients.forEach(askForLife), HEARTBEAT);
  heartbeat.unref();
  const listening = await listen(app(host, config), {
    host,
    port,
    onUpgrade(incoming, socket, head) {
      const refusal = upgradeRefusal(incoming, host);
      if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal}\r\nconnection: close\r\n\r\n`);
      sockets.handleUpgrade(incoming, socket, head, (opened) => sockets.emit('connection', opened, incoming));
    },
  }).catch((error) => {
    clearInterval(heartbeat);
    throw error;
  });
  const { train, eval: held } = task.problems;
  return {
    ...listening,
    problems: { train: train.length, eval: held.length },
    async close() {
      clearInterval(heartbeat);
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      await listening.close();
    },
  };
}

function assertServable({ environment }: Task): void {
  if (!environment.agent) return;
  throw new GradusError(
    'ENVIRONMENT_NOT_SERVED',
    'an agent plays this environment by itself: there are no turns to serve',
    { hint: 'serve an environment that multiTurn, toolEnvironment or singleTurn made', path: 'environment' },
  );
}

function app(host: string, { environment, taskset, dataset }: Config): Hono {
  const name = environment ?? taskset ?? dataset ?? 'gradus';
  const app = new Hono();
  app.onError((error, context) => context.json({ error: { message: messageOf(error) } }, 403));
  app.use(ownHost(host));
  app.get('/health', (context) => context.json({ status: 'healthy' }));
  app.get('/metadata', (context) =>
    context.json({ name, description: 'An environment of Gradus: sessions are at /ws', version: null }),
  );
  app.get('/schema', (context) => context.json(schemas));
  return app;
}

/** The answer to an upgrade that is not for this server, or that comes from a web page. */
function upgradeRefusal({ url, headers, socket }: IncomingMessage, host: string): string | undefined {
  if (!/^\/ws(\?|$)/.test(url ?? '')) return '404 Not Found';
  try {
    assertOwnPage(headers, host, socket.localPort);
    return undefined;
  } catch {
    return '403 Forbidden';
  }
}

const alive = new WeakSet<WebSocket>();

function askForLife(socket: WebSocket): void {
  // The socket is not read while a message is answered, so an unread frame may be the pong.
  if (socket.isPaused) return;
  if (alive.delete(socket)) socket.ping();
  else socket.terminate();
}

/** Answers messages one after another: the socket is read no further while one is answered. */
function converse(socket: WebSocket, session: Session): void {
  alive.add(socket);
  socket.on('pong', () => alive.add(socket));
  socket.on('error', () => socket.terminate());
  socket.on('close', () => session.close());
  let answered = Promise.resolve();
  socket.on('message', (data) => {
    alive.add(socket);
    socket.pause();
    answered = answered.then(async () => {
      const answer = await session.answer(data.toString());
      if (answer === undefined) socket.close();
      else if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(answer));
      socket.resume();
    });
  });
}

function refuse(socket: WebSocket, most: number): void {
  const message = `${most} sessions are open, which is the most that may be`;
  const data = { message, code: 'CAPACITY_REACHED', active_sessions: most, max_sessions: most };
  socket.on('error', () => socket.terminate());
  socket.send(JSON.stringify({ type: 'error', data }), () => socket.close());
  // The session ends even if the client does not close its side.
  void once(socket, 'close', { signal: AbortSignal.timeout(HEARTBEAT) }).catch(() => socket.terminate());
}
