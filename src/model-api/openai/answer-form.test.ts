// Calls by force, as each family of models writes them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Renderer } from '../../rendering.ts';
import { toolSyntaxes } from '../../tools/syntaxes.ts';
import { answerForm } from './answer-form.ts';
import { beginOf, goOn } from './grammar.ts';
import { chatRequest } from './requests.ts';

for (const [name, syntax] of Object.entries(toolSyntaxes)) {
  test(`a call of the syntax ${name} may be any of the tools, with arguments that conform`, () => {
    const parameters = { properties: { a: { type: 'integer' }, b: { type: 'object' } }, required: ['a'] };
    const tools = ['f', 'g{}'].map((name) => ({ type: 'function', function: { name, parameters } }));
    const messages = [{ role: 'user', content: 'x' }];
    const renderer = { renderCall: syntax.render } as Pick<Renderer, 'renderCall'> as Renderer;
    const form = (tool_choice: unknown) =>
      answerForm(chatRequest.parse({ model: 'm', messages, tools, tool_choice }), renderer)!;
    // Arguments are texts, literals of Python, or a notation of their own.
    if (['qwen3_coder', 'lfm2', 'glm4', 'gemma4'].includes(name)) {
      assert.throws(() => form('required'), { message: /writes no JSON in its calls/ });
      assert.equal(form('auto'), undefined);
      return;
    }
    const isAllowed = (choice: unknown, name: string, given: Record<string, unknown>) =>
      goOn(beginOf(form(choice).grammar), syntax.render({ name, arguments: given }))?.mayEnd ?? false;
    assert.ok(isAllowed('required', 'f', { a: 1 }));
    assert.ok(isAllowed('required', 'g{}', { a: 1, b: { c: ['{}'] } }));
    assert.ok(!isAllowed('required', 'h', { a: 1 }));
    assert.ok(!isAllowed('required', 'f', { a: 'x' }));
    assert.ok(!isAllowed('required', 'f', {}));
    const one = { type: 'function', function: { name: 'f' } };
    assert.ok(isAllowed(one, 'f', { a: 1 }) && !isAllowed(one, 'g{}', { a: 1 }));
    const closing = answerForm(
      chatRequest.parse({ model: 'm', messages, tools, tool_choice: 'required' }),
      renderer,
      '<think>\n',
    )!;
    const call = syntax.render({ name: 'f', arguments: { a: 1 } });
    assert.ok(
      goOn(beginOf(closing.grammar), `</think>\n\n${call}`)?.mayEnd,
      'thoughts that the prompt opened are closed',
    );
    assert.equal(goOn(beginOf(closing.grammar), call), undefined);
    assert.equal(form('required').field, 'tool_choice');
    assert.equal(form('auto'), undefined);
  });
}
