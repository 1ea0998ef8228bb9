// A model behind OpenAI's interface (models, chat completions, completions, responses) and Anthropic's (messages); whole or as a stream of events.
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { cors } from 'hono/cors';
import { streamSSE } from 'hono/streaming';
import type { z } from 'zod';
import { GradusError, messageOf } from '../../errors.ts';
import { ownHost } from '../../http/own-host.ts';
import { errorBody } from '../anthropic/error-body.ts';
import { countRequest, messageRequest } from '../anthropic/message-requests.ts';
import { countTokens, message, messageEvents } from '../anthropic/messages.ts';
import { ApiError, parsed } from './api-error.ts';
import { Buffered } from './buffered.ts';
import { chatCompletion, chatCompletionChunks } from './chat-completions.ts';
import { completion, completionChunks } from './completions.ts';
import { assertFewValues } from './request-size.ts';
import { chatRequest, completionRequest } from './requests.ts';
import { responsesRequest } from './response-requests.ts';
import { response, responseEvents } from './responses.ts';
import type { ServedModel } from './served-model.ts';

export interface OpenAiAppOptions {
  /** The address that is listened on: without a key, requests for another host are refused. @default all hosts are accepted */
  readonly host?: string;
  /** The key that clients must send. @default no key is required */
  readonly apiKey?: string;
  /** Called with failures that are not the client's. */
  readonly onError?: (error: unknown) => void;
}

const MOST_BYTES = 16 * 2 ** 20;

/** How one kind of request is answered. */
interface Route<R> {
  readonly schema: z.ZodType<R>;
  whole(model: ServedModel, request: R, signal: AbortSignal): Promise<object>;
  /** Chunks with a `type` are events of that name. */
  pieces(model: ServedModel, request: R, signal: AbortSignal, send: (chunk: Chunk) => void): Promise<void>;
  /** The text of the event that follows the last piece. */
  readonly end?: string;
}

type Chunk = object & { readonly type?: string };

export function openAiApp(model: ServedModel, { host, apiKey, onError = () => {} }: OpenAiAppOptions = {}): Hono {
  const app = new Hono();
  const described = { id: model.id, object: 'model', created: model.created, owned_by: 'gradus' };
  if (apiKey !== undefined) {
    // Pages of any origin are answered: the key decides. Browsers ask first whether they may, without the key, so `cors` answers before it is
    // checked.
    app.use(cors());
    app.use('/v1/*', (c, next) => assertKey(c, apiKey).then(next));
  } else if (host !== undefined) app.use(ownHost(host));
  app.use(
    bodyLimit({
      maxSize: MOST_BYTES,
      onError: () => {
        throw new ApiError(413, 'request_too_large', `A request may have ${MOST_BYTES} bytes`);
      },
    }),
  );
  app.get('/health', (c) => c.json({ status: 'ok' }));
  app.get('/v1/models', (c) => c.json({ object: 'list', data: [described] }));
  app.get('/v1/models/:id{.+}', (c) => {
    model.assertIs(c.req.param('id'));
    return c.json(described);
  });
  const end = '[DONE]';
  const chat = { schema: chatRequest, whole: chatCompletion, pieces: chatCompletionChunks, end };
  const text = { schema: completionRequest, whole: completion, pieces: completionChunks, end };
  const responses = { schema: responsesRequest, whole: response, pieces: responseEvents };
  app.post('/v1/chat/completions', (c) => answer(c, model, chat, onError));
  app.post('/v1/completions', (c) => answer(c, model, text, onError));
  app.post('/v1/responses', (c) => answer(c, model, responses, onError));
  const messages = { schema: messageRequest, whole: message, pieces: messageEvents };
  app.post('/v1/messages', (c) => answer(c, model, messages, onError));
  app.post('/v1/messages/count_tokens', async (c) => c.json(countTokens(model, parsed(countRequest, await bodyOf(c)))));
  app.notFound((c) => {
    const known =
      'POST /v1/chat/completions, POST /v1/completions, POST /v1/responses, POST /v1/messages, GET /v1/models, GET /health';
    return c.json(
      new ApiError(404, 'not_found', `No such address: ${c.req.method} ${c.req.path}; there are ${known}`).body,
      404,
    );
  });
  app.onError((error, c) => {
    // The client has gone, so the response is never read.
    if (c.req.raw.signal.aborted) return new Response(null, { status: 499 });
    const refusal = refusalOf(error);
    if (!refusal) onError(error);
    const told = refusal ?? new ApiError(500, 'internal_error', messageOf(error));
    return c.json(bodyFor(c, told), told.status);
  });
  return app;
}

/** What is wrong with a request; undefined if the failure is not the client's. */
function refusalOf(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (error instanceof GradusError && error.kind === 'invalid')
    return new ApiError(400, error.code.toLowerCase(), error.message);
  // The request is nested so deeply that no function can walk it.
  if (error instanceof RangeError && /call stack/.test(error.message))
    return new ApiError(400, 'invalid_value', 'The request is nested too deeply');
  return undefined;
}

/** An error as the clients of the interface that was asked read it. */
function bodyFor(c: Context, error: ApiError): object {
  return c.req.path.startsWith('/v1/messages') ? errorBody(error) : error.body;
}

async function answer<R extends { stream?: boolean | null | undefined }>(
  c: Context,
  model: ServedModel,
  { schema, whole, pieces, end }: Route<R>,
  onError: (error: unknown) => void,
): Promise<Response> {
  const body = await bodyOf(c);
  assertFewValues(body);
  const request = parsed(schema, body);
  const { signal } = c.req.raw;
  if (!request.stream) return c.json(await whole(model, request, signal));
  const chunks = new Buffered<Chunk>();
  pieces(model, request, signal, (chunk) => chunks.push(chunk)).then(
    () => chunks.end(),
    (error) => chunks.end(error),
  );
  const reader = chunks[Symbol.asyncIterator]();
  // Until something has been sent, the status can still report an error.
  const first = await reader.next();
  return streamSSE(c, async (stream) => {
    const send = (chunk: Chunk) =>
      stream.writeSSE({ data: JSON.stringify(chunk), ...(chunk.type !== undefined && { event: chunk.type }) });
    try {
      for (let next = first; !next.done; next = await reader.next()) await send(next.value);
      if (end !== undefined) await stream.writeSSE({ data: end });
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      await send({
        ...(end === undefined && { type: 'error' }),
        ...bodyFor(c, new ApiError(500, 'internal_error', messageOf(error))),
      });
    }
  });
}

async function bodyOf(c: Context): Promise<unknown> {
  try {
    return await c.req.json();
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError(400, 'invalid_json', `The request is not JSON: ${messageOf(error)}`);
  }
}

async function assertKey(c: Context, apiKey: string): Promise<void> {
  const [scheme = '', given = ''] = (c.req.header('authorization') ?? '').split(' ');
  const keys = [scheme.toLowerCase() === 'bearer' ? given : '', c.req.header('x-api-key') ?? ''];
  const digest = (text: string) => createHash('sha256').update(text).digest();
  if (keys.some((key) => timingSafeEqual(digest(key), digest(apiKey)))) return;
  const ways = '`Authorization: Bearer KEY` or `x-api-key: KEY`';
  throw new ApiError(401, 'invalid_api_key', `The key is missing or wrong: send it as ${ways}`);
}
