// The renderer that belongs to a model: its tokenizer, its chat template or plain text, the tokens that end its turn.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GradusError, messageOf } from '../errors.ts';
import { chatRenderer } from '../renderers/chat-renderer.ts';
import { createChatTemplate } from '../renderers/chat-template.ts';
import { plainRenderer } from '../renderers/plain-renderer.ts';
import type { Renderer } from '../rendering.ts';
import { createTokenizer, type Tokenizer } from '../tokenizers/tokenizer.ts';

type Json = Readonly<Record<string, unknown>>;

/** How prompts become text: through a chat template, or plain although the model has one, or plain because it has none. */
export type TemplateUse = 'applied' | 'ignored' | 'absent';

export interface ModelText {
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly template: TemplateUse;
}

/**
 * Throws `TOKENIZER_NOT_FOUND`, `TOKENIZER_INVALID`, `CHAT_TEMPLATE_NOT_FOUND`, `CHAT_TEMPLATE_MISSING`, `CHAT_TEMPLATE_FAILED`.
 * @param modelPath a model's folder, or a file in it
 * @param chatTemplate `auto` (the model's own), `none` (plain text) or the path of a Jinja file
 */
export function openRenderer(modelPath: string, chatTemplate: string): Renderer {
  return openModelText(modelPath, chatTemplate).renderer;
}

/** The same, and whether a chat template is used. */
export function openModelText(modelPath: string, chatTemplate: string): ModelText {
  const folder = statSync(modelPath).isDirectory() ? modelPath : dirname(modelPath);
  const config = readJson(folder, 'tokenizer_config.json') ?? {};
  const tokenizer = openTokenizer(folder, config);
  const stopIds = endTokens(folder, tokenizer);
  const own = ownTemplate(folder, tokenizer);
  if (chatTemplate === 'none') {
    const renderer = plainRenderer(tokenizer, { stopIds });
    return { tokenizer, renderer, template: own === undefined ? 'absent' : 'ignored' };
  }
  const source = chatTemplate === 'auto' ? own : readTemplate(chatTemplate);
  const template = createChatTemplate(source, specialTokens(config));
  return { tokenizer, renderer: chatRenderer(tokenizer, template, { stopIds }), template: 'applied' };
}

function openTokenizer(folder: string, config: Json): Tokenizer {
  const description = readJson(folder, 'tokenizer.json');
  if (description) return createTokenizer(description, config, readJson(folder, 'special_tokens_map.json') ?? {});
  throw new GradusError('TOKENIZER_NOT_FOUND', `${folder} has no tokenizer.json`, {
    hint: 'put the tokenizer files of the model beside its weights',
    path: 'model',
  });
}

/** All tokens that the model's files call the end: chat models have one for the turn and one for the text. */
function endTokens(folder: string, tokenizer: Tokenizer): Set<number> {
  const named = ['generation_config.json', 'config.json'].map((file) => readJson(folder, file)?.eos_token_id);
  const ids = [...named.flat(), tokenizer.eosId].filter((id) => typeof id === 'number');
  return new Set(ids);
}

/** Newer models keep their template in a file of its own. */
function ownTemplate(folder: string, tokenizer: Tokenizer): string | undefined {
  const file = join(folder, 'chat_template.jinja');
  return existsSync(file) ? readFileSync(file, 'utf8') : tokenizer.chatTemplate;
}

function readTemplate(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new GradusError('CHAT_TEMPLATE_NOT_FOUND', `cannot read the chat template ${path}`, {
      hint: 'chat_template is auto, none or the path of a Jinja file',
      path: 'chat_template',
      cause,
    });
  }
}

/** The special tokens that templates write by name. */
function specialTokens(config: Json): Record<string, string> {
  const names = ['bos_token', 'eos_token', 'pad_token', 'unk_token'];
  return Object.fromEntries(
    names.flatMap((name) => {
      const token = config[name];
      const text = typeof token === 'object' && token !== null ? (token as Json).content : token;
      return typeof text === 'string' ? [[name, text]] : [];
    }),
  );
}

function readJson(folder: string, name: string): Json | undefined {
  const path = join(folder, name);
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new GradusError('MODEL_FILE_INVALID', `${path} is not JSON: ${messageOf(cause)}`, {
      hint: 'fetch the model again',
      path: 'model',
      cause,
    });
  }
}
