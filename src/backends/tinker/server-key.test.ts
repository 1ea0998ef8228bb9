// Keys that are exchanged for tokens: when, how often, and what happens if an exchange fails.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { answering, type Reply } from '../../../test/scripted-tinker-server.ts';
import { capabilities } from './answers.ts';
import { ServerKey } from './server-key.ts';
import { serverDialect } from './tinker-passes.ts';

const part = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url');
/** A token as the service's are: what it says of itself in the second part, times in seconds. */
const jwt = (number: number, lifetime = 100) =>
  `${part({ alg: 'x' })}.${part({ iat: 1e9, exp: 1e9 + lifetime, number })}.s`;

/** @param fails whether the exchange of a number fails */
function exchanging(t: TestContext, { wants = true, fails = (_: number): boolean => false } = {}) {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  let count = 0;
  const key = new ServerKey('tml-key', {
    wantsTokens: async () => wants,
    exchange: async () => {
      count++;
      if (fails(count)) throw new Error('busy');
      return jwt(count);
    },
  });
  const pass = (seconds: number) => {
    now += 1000 * seconds;
  };
  return { key, pass, exchanges: () => count };
}

test('the key itself is sent until a server asks for tokens', async (t) => {
  const { key, exchanges } = exchanging(t);
  assert.equal(await key.current(), 'tml-key');
  await key.useTokens();
  await key.useTokens();
  assert.deepEqual([await key.current(), exchanges()], [jwt(1), 1]);
});

test('a token is renewed after half its time, and counts to its end if that fails', async (t) => {
  const { key, pass, exchanges } = exchanging(t, { fails: (number) => number === 2 || number > 3 });
  await key.useTokens();
  pass(49);
  assert.equal(await key.current(), jwt(1));
  pass(2);
  assert.equal(await key.current(), jwt(1));
  assert.equal(await key.current(), jwt(3));
  assert.equal(exchanges(), 3);
  pass(99);
  assert.equal(await key.current(), jwt(3));
  pass(2);
  await assert.rejects(key.current(), /busy/);
});

test('requests that were refused together exchange the key once', async (t) => {
  const { key, exchanges } = exchanging(t);
  await key.useTokens();
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => key.replace(jwt(1)))), [true, true, true]);
  // This one was refused with the token before.
  assert.equal(await key.replace(jwt(1)), true);
  assert.deepEqual([await key.current(), exchanges()], [jwt(2), 2]);
});

test('a server that has no tokens refuses the key for good', async (t) => {
  const { key, exchanges } = exchanging(t, { wants: false });
  assert.deepEqual([await key.replace('tml-key'), exchanges()], [false, 0]);
  const none = new ServerKey(undefined, { wantsTokens: async () => true, exchange: async () => jwt(1) });
  assert.deepEqual([await none.replace(undefined), await none.current()], [false, undefined]);
});

const config: Reply = { body: { pjwt_auth_enabled: true } };
const models: Reply = { body: { supported_models: [] } };
const unauthorized: Reply = { status: 401, body: { detail: 'the token is not good' } };

test('a server that does not take the key itself is asked whether it takes tokens', async (t) => {
  const { client, asked } = await answering(t, {
    'client/config': [config],
    'auth/token': [{ status: 503, body: {} }, { body: { jwt: jwt(1) } }, { body: { jwt: 'opaque' } }],
    get_server_capabilities: [unauthorized, models, unauthorized, models],
  });
  await client.ask(capabilities, 'get_server_capabilities');
  await client.ask(capabilities, 'get_server_capabilities');
  assert.deepEqual(
    asked.map(({ route, headers }) => [route, headers['x-api-key']]),
    [
      ['get_server_capabilities', 'tml-secret'],
      ['client/config', 'tml-secret'],
      ['auth/token', 'tml-secret'],
      ['auth/token', 'tml-secret'],
      ['get_server_capabilities', jwt(1)],
      ['get_server_capabilities', jwt(1)],
      ['auth/token', 'tml-secret'],
      ['get_server_capabilities', 'opaque'],
    ],
  );
});

test('a wrong key is reported, and a token is not requested over and over', async (t) => {
  const { client, count } = await answering(t, {
    'client/config': [config],
    'auth/token': [{ status: 401, body: { detail: 'no such key' } }],
    get_server_capabilities: [unauthorized],
  });
  await assert.rejects(client.ask(capabilities, 'get_server_capabilities'), {
    code: 'TINKER_UNAUTHORIZED',
    message: /no such key/,
  });
  const other = await answering(t, {
    'client/config': [config],
    'auth/token': [{ body: { jwt: jwt(1) } }],
    get_server_capabilities: [unauthorized],
  });
  await assert.rejects(other.client.ask(capabilities, 'get_server_capabilities'), { code: 'TINKER_UNAUTHORIZED' });
  assert.deepEqual([count('auth/token'), other.count('auth/token'), other.count('get_server_capabilities')], [1, 1, 2]);
});

test('the server’s settings at the start hold for the session', async (t) => {
  const { client } = await answering(t, {
    'client/config': [{ body: { pjwt_auth_enabled: true, proto_compress_fwdbwd: true } }],
    'auth/token': [{ body: { jwt: jwt(1) } }],
  });
  assert.equal((await serverDialect(client)).compressed, true);
  await assert.rejects(client.ask(capabilities, 'get_server_capabilities'), { code: 'TINKER_REFUSED' });
});
