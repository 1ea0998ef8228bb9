// Programs that play episodes, as configurations write them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfigObject } from './load.ts';

const common = { model: 'none', dataset: 'rows.jsonl', reward: 'length', eval: null } as const;
const load = (part: object) => loadConfigObject({ ...common, ...part } as never, [], '/project').config;

test('a command instead of an environment becomes one with settings, in the folder of the configuration', () => {
  const { environment, environment_config } = load({ environment: { command: ['./agent'], scores: ['right'] } });
  assert.equal(environment, 'command');
  assert.deepEqual(environment_config, { command: ['./agent'], scores: ['right'], folder: '/project' });
  assert.deepEqual(load({ environment: 'command', environment_config: { command: ['./agent'], scores: ['right'] } }), {
    ...load({ environment: { command: ['./agent'], scores: ['right'] } }),
  });
  assert.equal(load({ environment: { command: ['a'], folder: 'b' } }).environment_config.folder, '/project/b');
});

test('one of several environments may be a command, and those that are none stay as they were', () => {
  const { environment, environment_config } = load({
    environment: { shell: 'command', chat: 'envs/chat.ts' },
    environment_config: { shell: { command: ['a'] }, chat: { folder: 'b' } },
  });
  assert.deepEqual(environment, { shell: 'command', chat: '/project/envs/chat.ts' });
  assert.deepEqual(environment_config, { shell: { command: ['a'], folder: '/project' }, chat: { folder: 'b' } });
  const named = load({ environment: { command: 'envs/named-command.ts' } });
  assert.deepEqual(named.environment, { command: '/project/envs/named-command.ts' });
});

test('a command written as one text is refused with the right form, wherever it is', () => {
  const refused = { code: 'CONFIG_CONFLICT', message: /command is a list/, hint: /command: \[python3, agent\.py\]/ };
  for (const environment of [
    { command: 'python3 agent.py' },
    { command: './agent', scores: ['right'] },
    { command: './agent' },
    { command: 'python3 -m agent', folder: 'agents' },
    { command: 'agent.py', keep: true },
  ]) {
    assert.throws(() => load({ environment }), refused, JSON.stringify(environment));
  }
  assert.throws(() => load({ environment: 'command', environment_config: { command: 'a b' } }), refused);
  assert.throws(
    () => load({ environment: { shell: 'command' }, environment_config: { shell: { command: 'a b' } } }),
    refused,
  );
  assert.deepEqual(load({ environment: { command: 'my.envs/agent.mts:play', chat: 'b.ts' } }).environment, {
    command: '/project/my.envs/agent.mts:play',
    chat: '/project/b.ts',
  });
});

test('a stage may have a command of its own', () => {
  const [stage] = load({ stages: [{ name: 'agent', steps: 2, environment: { command: ['a'] } }] }).stages;
  assert.deepEqual(
    [stage!.environment, stage!.environment_config],
    ['command', { command: ['a'], folder: '/project' }],
  );
});

test('a setting may name a command, and further settings change it', () => {
  const set = (...settings: string[]) =>
    loadConfigObject({ ...common, environment: 'a.ts', environment_config: { old: 1 } } as never, settings, '/project')
      .config;
  const { environment, environment_config } = set(
    'environment={command: [./agent], scores: [right]}',
    'environment_config.folder=b',
  );
  assert.equal(environment, 'command');
  assert.deepEqual(environment_config, { command: ['./agent'], scores: ['right'], folder: '/project/b' });
  assert.equal(set('environment=b.ts').environment, '/project/b.ts');
});
