// OpenAI's and Anthropic's clients of a model that says given words, so that tests decide what it calls.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { characterTokenizerJson } from '../demo/character-tokenizer.ts';
import { openAiApp } from '../src/model-api/openai/openai-app.ts';
import { ServedModel } from '../src/model-api/openai/served-model.ts';
import type { Policy } from '../src/policy.ts';
import { chatRenderer } from '../src/renderers/chat-renderer.ts';
import { createChatTemplate } from '../src/renderers/chat-template.ts';
import { createTokenizer } from '../src/tokenizers/tokenizer.ts';

const alphabet = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('');
const tokenizer = createTokenizer(characterTokenizerJson(`${alphabet}\n`, ['<unk>', '<s>', '</s>']), {
  bos_token: '<s>',
  eos_token: '</s>',
  unk_token: '<unk>',
});
const rendererOf = (opening: string) => {
  const template = createChatTemplate(
    `{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>assistant: ${opening}{% endif %}`,
    tokenizer.roleTokens,
  );
  return chatRenderer(tokenizer, template, { stopIds: new Set([tokenizer.eosId!]) });
};

/**
 * The model says the same whatever it is asked, and keeps what it was asked.
 * @param opening what its template writes of every answer
 */
export function scriptedClient(
  words: string,
  opening = '',
): { client: OpenAI; anthropic: Anthropic; prompts: string[] } {
  const renderer = rendererOf(opening);
  const prompts: string[] = [];
  const ids = [...tokenizer.encode(words), tokenizer.eosId!];
  const policy: Policy = {
    contextLength: 4096,
    async sample(requests) {
      return requests.map(({ promptIds, stopWhen, maxTokens }) => {
        prompts.push(tokenizer.decode(promptIds));
        const may = ids.slice(0, maxTokens);
        const end = may.findIndex((_, i) => stopWhen!(may.slice(0, i + 1)));
        const said = end < 0 ? may : may.slice(0, end + 1);
        const logprobs = said.map(() => -0.5);
        const finishReason = end < 0 && said.length < ids.length ? 'length' : 'stop';
        return { ids: said, logprobs, plainLogprobs: logprobs, finishReason };
      });
    },
  };
  const app = openAiApp(new ServedModel({ id: 'scripted', policy, renderer, tokenizer }));
  const fetch = (input: string | URL | Request, init?: RequestInit) =>
    Promise.resolve(app.request(input as string, init));
  const options = { apiKey: 'none', maxRetries: 0, fetch };
  return {
    client: new OpenAI({ baseURL: 'http://here/v1', ...options }),
    anthropic: new Anthropic({ baseURL: 'http://here', ...options }),
    prompts,
  };
}
