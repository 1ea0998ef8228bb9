// A hub of our own on this machine: the routes that downloads ask, over repositories in memory, and a say in every answer.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HubServerRepo {
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** Those that lie in large-file storage, elsewhere, and are hashed with SHA-256. @default none */
  readonly large?: readonly string[];
  /** Branches and tags besides `main`. */
  readonly revisions?: Readonly<Record<string, string>>;
}

export interface HubServer extends Disposable {
  readonly endpoint: string;
  /** `GET /api/models/org/name`: what was asked, without the query. */
  readonly requests: string[];
  readonly headers: IncomingMessage['headers'][];
  /** Sees each request first, and may answer it; with `unanswered` nobody does. */
  intercept: (path: string, request: IncomingMessage, response: ServerResponse) => unknown;
}

export const COMMIT = 'a'.repeat(40);
/** How many files a page of a listing has. */
const PAGE = 4;

/** @param repos by `models/org/name` and `datasets/org/name` */
export async function startHubServer(repos: Readonly<Record<string, HubServerRepo>>): Promise<HubServer> {
  const requests: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://hub');
    const path = decodeURIComponent(pathname);
    requests.push(`${request.method} ${path}`);
    headers.push(request.headers);
    const fate = hub.intercept(path, request, response);
    if (fate !== 'unanswered' && !response.headersSent) answer(path, searchParams, request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hub: HubServer = {
    endpoint,
    requests,
    headers,
    intercept: () => {},
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return hub;

  function answer(path: string, query: URLSearchParams, request: IncomingMessage, response: ServerResponse): void {
    const [name, repo] =
      Object.entries(repos).find(
        ([key]) => path.includes(`/${key}/`) || path.startsWith(`/${key.replace('models/', '')}/`),
      ) ?? [];
    const revision = /\/revision\/(.+)$/.exec(path)?.[1];
    const file = /\/resolve\/[^/]+\/(.+)$/.exec(path)?.[1];
    if (name === undefined || repo === undefined) refuse(response, 401, 'RepoNotFound');
    else if (revision !== undefined) {
      const sha = revision === 'main' || revision === COMMIT ? COMMIT : repo.revisions?.[revision];
      if (sha) json(response, { _id: '1', id: name.split('/').slice(1).join('/'), sha });
      else refuse(response, 404, 'RevisionNotFound');
    } else if (path.includes('/tree/')) list(repo, path, Number(query.get('cursor') ?? 0), response);
    else if (file === undefined || !(file in repo.files)) refuse(response, 404, 'EntryNotFound');
    else if (repo.large?.includes(file) && query.get('stored') === null) {
      response.writeHead(302, { location: `${endpoint}${encodeURI(path)}?stored=1` }).end();
    } else send(Buffer.from(repo.files[file]!), request, response);
  }

  function list(repo: HubServerRepo, path: string, cursor: number, response: ServerResponse): void {
    const all = Object.entries(repo.files).map(([name, content]) => {
      const bytes = Buffer.from(content);
      const oid = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const lfs = repo.large?.includes(name) && { lfs: { oid: sha256, size: bytes.length, pointerSize: 130 } };
      return { type: 'file', path: name, size: bytes.length, oid, ...lfs };
    });
    const next = cursor + PAGE;
    if (next < all.length) response.setHeader('link', `<${endpoint}${path}?recursive=true&cursor=${next}>; rel="next"`);
    json(response, [{ type: 'directory', path: 'onnx', size: 0, oid: COMMIT }, ...all.slice(cursor, next)]);
  }
}

/** A file, or the part of it that is asked for. */
export function send(content: Uint8Array, request: IncomingMessage, response: ServerResponse): void {
  const [, from] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
  if (from === undefined) {
    response.writeHead(200, { 'content-length': content.length }).end(content);
    return;
  }
  const part = content.subarray(Number(from));
  const range = `bytes ${from}-${content.length - 1}/${content.length}`;
  response.writeHead(206, { 'content-length': part.length, 'content-range': range }).end(part);
}

export function refuse(
  response: ServerResponse,
  status: number,
  code?: string,
  more: Record<string, string> = {},
): void {
  response.writeHead(status, { ...(code && { 'x-error-code': code }), ...more }).end();
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
