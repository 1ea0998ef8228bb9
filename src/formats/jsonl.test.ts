// JSON lines: what is read back, what is torn, what is an error.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJsonLines, stringifyLine } from './jsonl.ts';

test('reads back its lines', () => {
  const values = [{ step: 1, text: 'a\nb\u2028c' }, { step: 2 }];
  assert.deepEqual(parseJsonLines(values.map(stringifyLine).join('')), { values, torn: false });
  assert.deepEqual(parseJsonLines(''), { values: [], torn: false });
});

test('takes a last line without a line feed, carriage returns and empty lines', () => {
  assert.deepEqual(parseJsonLines('{"a":1}\r\n\n{"a":2}'), { values: [{ a: 1 }, { a: 2 }], torn: false });
});

test('tolerates a torn last line', () => {
  assert.deepEqual(parseJsonLines('{"a":1}\n{"a":'), { values: [{ a: 1 }], torn: true });
});

test('names the line that is malformed anywhere else', () => {
  assert.throws(() => parseJsonLines('{"a":1}\n{"a":\n{"a":3}\n'), { code: 'JSONL_LINE_INVALID', message: /^line 2 / });
  assert.throws(() => parseJsonLines('{"a":1}\n{"a":\n'), { code: 'JSONL_LINE_INVALID', message: /^line 2 / });
});

test('halves of surrogate pairs, which most readers refuse, are replaced; what looks like one is not', () => {
  assert.equal(
    stringifyLine({ '\ud83d': ['a\udc00b', '😀', '\\ud800', '\\\ud800'] }),
    '{"\\ufffd":["a\\ufffdb","😀","\\\\ud800","\\\\\\ufffd"]}\n',
  );
});
