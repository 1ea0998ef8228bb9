// A client of a training server that says exactly what it is told to, and the small requests that tests make.
import assert from 'node:assert/strict';

export type Json = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  /** JSON, or bytes. */
  readonly content: Json;
}

/** @param address the server's, asked for with each request unless another is given */
export function trainingClient(address: () => string) {
  async function send(route: string, body: unknown, headers: Record<string, string> = {}, url = address()) {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    return await fetched(`${url}/api/v1/${route}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: raw ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body),
    });
  }

  async function accepted(route: string, body: unknown, url?: string): Promise<Json> {
    const { status, content } = await send(route, body, {}, url);
    assert.equal(status, 200, JSON.stringify(content));
    return content;
  }

  /** Submits a request and fetches its result. */
  async function result(route: string, body: unknown, url?: string): Promise<Json> {
    const { request_id } = await accepted(route, body, url);
    return await accepted('retrieve_future', { request_id }, url);
  }

  const newSession = async (url?: string) =>
    (await accepted('create_session', { tags: [], user_metadata: null, sdk_version: '0' }, url)).session_id;

  async function newModel(session_id: unknown, url?: string, rank = 2): Promise<string> {
    const body = { session_id, model_seq_id: seen++, base_model: 'served', lora_config: { rank } };
    const { model_id, error } = await result('create_model', body, url);
    assert.equal(error, undefined);
    return String(model_id);
  }

  const get = (route: string, headers: Record<string, string> = {}, url = address()) =>
    fetched(`${url}/api/v1/${route}`, { headers });

  return { send, accepted, result, get, newSession, newModel };
}

/** No two models have the same number. */
let seen = 0;

async function fetched(url: string, request: RequestInit): Promise<Answer> {
  const response = await fetch(url, request);
  const isJson = response.headers.get('content-type')?.includes('json');
  const content = isJson ? ((await response.json()) as Json) : new Uint8Array(await response.arrayBuffer());
  return { status: response.status, content: content as Json };
}

export const tensor = (data: number[], dtype = 'float32') => ({ data, dtype, shape: [data.length] });
export const input = (...tokens: unknown[]) => ({ chunks: [{ type: 'encoded_text', tokens }] });
export const datum = (tokens = [5, 6, 7], targets = [6, 7, 8]) => ({
  model_input: input(...tokens),
  loss_fn_inputs: { target_tokens: tensor(targets, 'int64') },
});
export const pass = (model_id: string, seq_id: number | null = null, data: unknown[] = [datum()]) => ({
  model_id,
  seq_id,
  forward_backward_input: { data, loss_fn: 'cross_entropy' },
});
export const step = (model_id: string, seq_id: number | null = null) => ({
  model_id,
  seq_id,
  adam_params: { learning_rate: 0 },
});
export const normOf = ({ metrics }: Json) => (metrics as Json)['unclipped_grad_l2:mean'] as number;
