// Tests of the agent's questions and of its scores. Run: npm test
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { sums } from './env.ts';

/** Runs the agent on `question` with a model that gives these replies, one per call. */
async function run(question: string, ...replies: string[]): Promise<{ result: unknown; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    requests.push(Buffer.concat(await request.toArray()).toString());
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ choices: [{ message: { content: replies[requests.length - 1] } }] }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection = { baseURL: `${address}/v1`, anthropicBaseURL: address, apiKey: 'key', model: 'any', headers: {} };
  const { signal } = new AbortController();
  try {
    return { result: await sums.agent!.run({ example: { question, answer: '5' }, ...connection, signal }), requests };
  } finally {
    server.close();
  }
}

test('a number is the answer', async () => {
  const { result, requests } = await run('What is 2 + 3?', ' 5\n');
  assert.deepEqual(result, { text: '5' });
  assert.equal(requests.length, 1);
});

test('it asks again if the reply is not a number', async () => {
  const { result, requests } = await run('What is 2 + 3?', 'Five!', '5');
  assert.deepEqual(result, { text: '5' });
  const { messages } = JSON.parse(requests[1]!) as { messages: { content: string }[] };
  assert.deepEqual(
    messages.slice(-2).map(({ content }) => content),
    ['Five!', 'One number, please.'],
  );
});

test('a right sum scores, and more if it comes at once', async () => {
  const score = (text: string, calls: number) =>
    sums.agent!.score!({
      example: { question: 'What is 2 + 3?', answer: '5' },
      result: { text },
      calls: new Array(calls).fill(undefined),
      messages: [],
    });
  assert.deepEqual(await score('5', 1), { correct: 1, at_once: 1 });
  assert.deepEqual(await score('5', 2), { correct: 1, at_once: 0 });
  assert.deepEqual(await score('6', 1), { correct: 0, at_once: 1 });
});

test('held-out problems are never trained on', async () => {
  const { train, eval: heldOut } = await sums.buildDataset!({ seed: 0 });
  const trained = new Set(train.map(({ question }) => question));
  assert.ok(heldOut!.every(({ question }) => !trained.has(question)));
});
