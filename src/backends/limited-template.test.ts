// Chat templates with and without an end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChatTemplate } from '../renderers/chat-template.ts';
import { limitedTemplate } from './limited-template.ts';

const messages = [{ role: 'user', content: 'Hello.' }] as const;
const limited = (source: string) => limitedTemplate(createChatTemplate(source), source, 300);

test('a time limit changes neither what a template renders nor what it refuses', () => {
  for (const source of [
    '{{ messages[0].content }}',
    '{{ range(5, 1, -2) }}{{ range(0) }}',
    '{% for i in range(2) %}{{ i }}{% endfor %}',
  ]) {
    assert.equal(limited(source).render(messages), createChatTemplate(source).render(messages));
  }
  const refusing = '{% set numbers = range(2) %}{{ raise_exception("no") }}';
  assert.throws(() => limited(refusing).render(messages), {
    code: 'CHAT_TEMPLATE_FAILED',
    message: /these messages: no/,
  });
});

test('an endless template is stopped: nested loops, macros that call themselves', () => {
  const loops = '{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}';
  const macro = '{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}';
  for (const source of [loops, macro]) {
    const template = limited(source);
    const start = performance.now();
    assert.throws(() => template.render(messages), {
      code: 'CHAT_TEMPLATE_FAILED',
      message: 'the chat template takes longer than 0.3 s',
    });
    assert.ok(performance.now() - start < 5000);
  }
});
