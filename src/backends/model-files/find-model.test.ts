// Models found by their names: paths, ids on this machine, and ids on the hub.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startHubServer } from '../../../test/hub-server.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { findModel, nameForOthers, obtainModel } from './find-model.ts';

const root = temporaryFolder('models');

const folder = (...parts: string[]) => {
  mkdirSync(join(root, ...parts), { recursive: true });
  return join(root, ...parts);
};

const models = folder('models');
const smol = folder('models', 'smollm2-135m-instruct');
const tiny = folder('models', 'Org', 'Tiny');
const cache = folder('hub');
const snapshot = folder('hub', 'models--Org--Cached', 'snapshots', 'abc');
writeFileSync(join(folder('hub', 'models--Org--Cached', 'refs'), 'main'), 'abc');
for (const name of ['config.json', 'tokenizer.json', 'model.safetensors']) writeFileSync(join(snapshot, name), '{}');
writeFileSync(join(folder('hub', 'models--Org--Half', 'refs'), 'main'), 'abc');
writeFileSync(join(folder('hub', 'models--Org--Half', 'snapshots', 'abc'), 'config.json'), '{}');
const environment = { GRADUS_MODELS: models, HF_HUB_CACHE: cache };

test('an existing path is used unchanged', () => assert.equal(findModel(smol, {}), smol));

test('an id is found in Hugging Face’s cache', () => {
  assert.equal(findModel('Org/Cached', environment), snapshot);
  assert.equal(findModel('Org/Cached', { HF_HOME: root }), snapshot);
  assert.equal(findModel('Org/Cached@abc', environment), snapshot);
  assert.throws(() => findModel('Org/Cached@v2', environment), { code: 'MODEL_NOT_FOUND' });
});

test('an id is found in $GRADUS_MODELS, in full or by its last part, ignoring case', () => {
  assert.equal(findModel('HuggingFaceTB/SmolLM2-135M-Instruct', environment), smol);
  assert.equal(findModel('SmolLM2-135M-Instruct', environment), smol);
  assert.equal(findModel('Org/Tiny', environment), tiny);
});

test('the name for other programs is the id, or the path if the name is hardly an id', () => {
  const same = ['HuggingFaceTB/SmolLM2-135M-Instruct', 'Org/Tiny@v2', 'Org/Cached', 'Org/Absent', 'absent', smol];
  for (const name of same) assert.equal(nameForOthers(name, environment), name);
  assert.equal(nameForOthers('SmolLM2-135M-Instruct', environment), smol);
  assert.equal(nameForOthers('SmolLM2-135M-Instruct', { HF_HUB_CACHE: cache }), 'SmolLM2-135M-Instruct');
});

test('an incomplete download is not a model', () => {
  assert.throws(() => findModel('Org/Half', environment), { code: 'MODEL_NOT_FOUND', kind: 'not_ready' });
});

test('an unknown id is “not ready”, an unknown path is “invalid”', () => {
  assert.throws(() => findModel('Org/Absent', environment), { code: 'MODEL_NOT_FOUND', kind: 'not_ready' });
  assert.throws(() => findModel('./models/absent', environment), { code: 'MODEL_NOT_FOUND', kind: 'invalid' });
  assert.throws(() => findModel(join(root, 'absent'), environment), { code: 'MODEL_NOT_FOUND', kind: 'invalid' });
});

test('a model on this machine needs no request', async () => {
  const nobody = { ...environment, HF_ENDPOINT: 'http://127.0.0.1:9' };
  assert.equal(await obtainModel(smol, { environment: nobody }), smol);
  assert.equal(await obtainModel('Org/Cached', { environment: nobody }), snapshot);
  assert.equal(await obtainModel('Org/Tiny', { environment: nobody }), tiny);
  const offline = { ...nobody, HF_HUB_OFFLINE: '1' };
  await assert.rejects(obtainModel('Org/Absent', { environment: offline }), { code: 'MODEL_NOT_FOUND' });
  await assert.rejects(obtainModel('./absent', { environment: nobody }), { code: 'MODEL_NOT_FOUND', kind: 'invalid' });
});

test('a model that is not on this machine is downloaded, until a signal cancels it', async (t) => {
  const files = { 'config.json': '{}', 'tokenizer.json': '{}', 'model.safetensors': 'weights' };
  const hub = await startHubServer({ 'models/Org/Absent': { files } });
  t.after(() => hub[Symbol.dispose]());
  const online = { ...environment, HF_ENDPOINT: hub.endpoint };
  const signal = AbortSignal.abort('SIGINT');
  await assert.rejects(obtainModel('Org/Absent', { environment: online, signal }), {
    code: 'CANCELLED',
    kind: 'failed',
  });
  const folder = await obtainModel('Org/Absent', { environment: online });
  assert.equal(findModel('Org/Absent', online), folder);
});
