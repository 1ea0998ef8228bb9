// docs/backends.md says of every key what the mapping says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backendsDocument } from '../../../scripts/backends-document.ts';
import { trlMapping } from './mapping.ts';

test('docs/backends.md is current', () => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'backends.md'), 'utf8');
  assert.equal(text, backendsDocument(text), 'run: node scripts/backends-document.ts');
  for (const key of Object.keys(trlMapping)) assert.ok(text.includes(`\`${key}\``), key);
});
