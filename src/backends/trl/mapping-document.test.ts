// docs/backends.md agrees with the tables for every key.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backendsDocument } from '../../../scripts/backends-document.ts';
import { configDefaults } from '../../config/schema.ts';
import { trlMapping, unmappedKeys } from './mapping.ts';

test('docs/backends.md is current', () => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'backends.md'), 'utf8');
  assert.equal(text, backendsDocument(text), 'run: node scripts/backends-document.ts');
  const keys = [...Object.keys(configDefaults), ...Object.keys(trlMapping), ...unmappedKeys(configDefaults)];
  for (const key of keys) assert.ok(text.includes(`\`${key}\``) || key === 'lora', key);
});
