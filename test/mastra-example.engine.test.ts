// The example of Mastra, which scripts/fetch-mastra.sh installs: it trains like the others.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { agentExamples, trainedAgent } from './agent-example.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder('mastra');
const isInstalled = existsSync(join(agentExamples, 'node_modules', '@mastra', 'core'));

test('mastra.ts trains for two steps, with the numbers of the others', {
  skip: isInstalled ? false : 'run scripts/fetch-mastra.sh first',
}, async () => {
  const metrics = await trainedAgent('mastra', join(folder, 'mastra'));
  assert.equal(metrics, await trainedAgent('openai', join(folder, 'openai')));
});
