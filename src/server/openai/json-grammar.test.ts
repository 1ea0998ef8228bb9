// The grammar of schemas: what it allows conforms, what conforms it allows, and what it cannot hold a text to is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { type RandomStream, randomStream } from '../../common/random.ts';
import { beginOf, type GrammarRule, goOn } from './grammar.ts';
import { anyObject, SchemaUnsupported, schemaGrammar } from './json-grammar.ts';

const alphabet = [...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)), '\n', '\t', 'é', '🙂'];

/** A text that the grammar allows, drawn character by character; undefined if it has not ended after many. */
function drawn(grammar: GrammarRule, random: RandomStream): string | undefined {
  let state = beginOf(grammar);
  let text = '';
  while (text.length < 5000) {
    const may = alphabet.filter((character) => goOn(state, character));
    if (state.mayEnd && (may.length === 0 || random.uniform() < 0.3)) return text;
    // Strings are ended early, so that values are many and short.
    const next = may.includes('"') && random.uniform() < 0.3 ? '"' : may[random.integer(may.length)]!;
    text += next;
    state = goOn(state, next)!;
  }
  return undefined;
}

function isAllowed(grammar: GrammarRule, text: string): boolean {
  return goOn(beginOf(grammar), text)?.mayEnd ?? false;
}

const schemas: Record<string, Record<string, unknown>> = {
  person: {
    title: 'Person',
    type: 'object',
    properties: {
      name: { type: 'string', description: 'in full' },
      age: { type: 'integer' },
      height: { anyOf: [{ type: 'number' }, { type: 'null' }], default: null },
      kind: { enum: ['a', 'b"', 3, null, 'é'] },
      tags: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3 },
      ok: { type: ['boolean', 'null'] },
      v: { const: 'x y' },
    },
    required: ['name', 'kind', 'v'],
    additionalProperties: false,
  },
  'all optional': {
    type: 'object',
    properties: { a: { type: 'boolean' }, b: { type: 'integer' }, c: { type: 'null' } },
    additionalProperties: false,
  },
  tree: {
    $ref: '#/$defs/Node',
    $defs: {
      Node: {
        type: 'object',
        properties: { value: { type: 'integer' }, next: { anyOf: [{ $ref: '#/$defs/Node' }, { type: 'null' }] } },
        required: ['value', 'next'],
      },
    },
  },
  'a map of lists': {
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'boolean' }, maxItems: 2 },
  },
  bounds: {
    type: 'array',
    items: {
      anyOf: [
        { type: 'number', minimum: -1.5, maximum: 1 },
        { type: 'string', minLength: 1, maxLength: 2 },
      ],
    },
  },
  'no items': { type: 'array', maxItems: 0 },
  'anything under a name': { type: 'object', properties: { any: {} }, required: ['any', 'other'] },
};

for (const [name, schema] of Object.entries(schemas)) {
  test(`what the grammar allows conforms: ${name}`, () => {
    const random = randomStream(1);
    const grammar = schemaGrammar(schema);
    const validator = z.fromJSONSchema(schema);
    const texts = new Set<string>();
    for (let i = 0; i < 60; i++) {
      const text = drawn(grammar, random);
      if (text === undefined) continue;
      texts.add(text);
      const checked = validator.safeParse(JSON.parse(text));
      assert.ok(checked.success, `${text}: ${checked.error}`);
    }
    assert.ok(texts.size >= (name === 'no items' ? 1 : 5), `${texts.size} texts`);
  });
}

test('any object is JSON, however it is drawn', () => {
  const random = randomStream(2);
  const texts = Array.from({ length: 60 }, () => drawn(anyObject, random)).filter((text) => text !== undefined);
  assert.ok(texts.length > 20);
  for (const text of texts) assert.equal(Object.getPrototypeOf(JSON.parse(text)), Object.prototype, text);
});

test('whole numbers within bounds, and no others', () => {
  const random = randomStream(3);
  for (let i = 0; i < 60; i++) {
    const [a, b] = [random.integer(3000) - 1500, random.integer(3000) - 1500];
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    const grammar = schemaGrammar({ type: 'integer', minimum: low, exclusiveMaximum: high + 0.5 });
    for (let n = -1600; n <= 1600; n++)
      assert.equal(isAllowed(grammar, String(n)), n >= low && n <= high, `${low} ≤ ${n} ≤ ${high}`);
    for (const text of ['00', '01', '-0', '1.0', '']) assert.ok(!isAllowed(grammar, text));
  }
  const wide = schemaGrammar(z.toJSONSchema(z.int()));
  for (const text of ['0', '-12', '123456789012345']) assert.ok(isAllowed(wide, text));
  const share = schemaGrammar({ type: 'number', minimum: 0, maximum: 1 });
  for (const text of ['0', '0.25', '1', '1.00']) assert.ok(isAllowed(share, text), text);
  for (const text of ['1.01', '-0.1', '2', '1e3']) assert.ok(!isAllowed(share, text), text);
});

test('what conforms is allowed as writers write it: compact, with blanks, indented', () => {
  const person = {
    name: 'A "b" \\ \n\u0001é🙂',
    age: -12,
    height: 1.5e-7,
    kind: 'é',
    tags: ['x', ''],
    ok: null,
    v: 'x y',
  };
  const few = { name: '', kind: null, v: 'x y' };
  const grammar = schemaGrammar(schemas.person!);
  for (const value of [person, few]) {
    assert.ok(isAllowed(grammar, JSON.stringify(value)));
    assert.ok(isAllowed(anyObject, JSON.stringify(value)));
    assert.ok(isAllowed(anyObject, JSON.stringify(value, null, 2)));
    assert.ok(isAllowed(anyObject, JSON.stringify({ deep: [[value, []], {}] }, null, '\t')));
  }
  assert.ok(isAllowed(grammar, '{"name": "x", "kind": "\\u00e9", "v": "x y"}'));
  for (const text of [
    '{"name": "x"}',
    '{"kind": 3, "name": "x", "v": "x y"}',
    '{"name": "x", "kind": 3, "v": "x y", "w": 1}',
    '{"name": "x", "age": 1.5, "kind": 3, "v": "x y"}',
    '{"name": "x", "kind": 3, "tags": [], "v": "x y"}',
    '{"name": "x", "kind": 3, "v": "x y"} ',
    '{"name": "x\n", "kind": 3, "v": "x y"}',
  ]) {
    assert.ok(!isAllowed(grammar, text), text);
  }
  for (const text of ['01', '1.', '.5', '+1', '-', '1e', '"\\x"', 'nul', '[1,]', '{"a"}', '1 2', ''])
    assert.ok(!isAllowed(schemaGrammar({}), text), text);
});

test('schemas that a text cannot be held to are refused, with the place', () => {
  const refused = (schema: Record<string, unknown>, message: RegExp) =>
    assert.throws(
      () => schemaGrammar(schema),
      (error) => error instanceof SchemaUnsupported && message.test(error.message),
    );
  refused({ type: 'object', properties: { a: { type: 'string', pattern: 'x' } } }, /^schema\.a: .* pattern$/);
  refused({ type: 'array', items: { oneOf: [] } }, /^schema\.items: .* oneOf$/);
  refused({ type: 'integer', multipleOf: 2 }, /multipleOf/);
  refused({ type: 'integer', minimum: 1.2, maximum: 1.8 }, /no whole number/);
  refused({ type: 'number', exclusiveMinimum: 0 }, /exclusive bound/);
  refused({ type: 'text' }, /there is no type text/);
  refused({ type: 'toString' }, /there is no type toString/);
  refused({ $ref: '#/$defs/X' }, /there is no #\/\$defs\/X/);
  refused({ $ref: 'https://example.com/schema' }, /there is no https/);
  refused({ $ref: '#' }, /# refers to itself/);
  refused({ anyOf: [{ type: 'null' }, { $ref: '#' }] }, /# refers to itself/);
  refused({ enum: Array.from({ length: 1001 }, (_, i) => i) }, /more than 1000 values/);
  refused({ type: 'array', minItems: 1e9 }, /256 items/);
  refused({ properties: { a: 1 } }, /schema\.a is no schema/);
});
