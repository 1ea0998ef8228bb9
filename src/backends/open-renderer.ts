// The renderer that belongs to a model: its tokenizer, its chat template or plain text, the tokens that end its turn.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GradusError, messageOf } from '../errors.ts';
import { ggufTokenizer } from '../formats/gguf-tokenizer.ts';
import { chatRenderer } from '../renderers/chat-renderer.ts';
import { createChatTemplate } from '../renderers/chat-template.ts';
import { plainRenderer } from '../renderers/plain-renderer.ts';
import type { Renderer } from '../rendering.ts';
import { createTokenizer, type Tokenizer } from '../tokenizers/tokenizer.ts';
import { fileError } from './model-files/file-error.ts';
import { ggufAt, readGgufMetadata } from './model-files/gguf-file.ts';

type Json = Readonly<Record<string, unknown>>;

/** How prompts become text: through a chat template, or plain although the model has one, or plain because it has none. */
export type TemplateUse = 'applied' | 'ignored' | 'absent';

export interface ModelText {
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly template: TemplateUse;
}

/**
 * The tokenizer is that of tokenizer.json, or where there is none, that inside a GGUF file.
 * Throws `TOKENIZER_NOT_FOUND`, `TOKENIZER_INVALID`, `GGUF_TOKENIZER_UNSUPPORTED`, `CHAT_TEMPLATE_NOT_FOUND`, `CHAT_TEMPLATE_MISSING`, `CHAT_TEMPLATE_FAILED`.
 * @param modelPath a model's folder, or a file in it
 * @param chatTemplate `auto` (the model's own), `none` (plain text) or the path of a Jinja file
 */
export async function openRenderer(modelPath: string, chatTemplate: string): Promise<Renderer> {
  return (await openModelText(modelPath, chatTemplate)).renderer;
}

/** The same, and whether a chat template is used. */
export async function openModelText(modelPath: string, chatTemplate: string): Promise<ModelText> {
  const folder = statSync(modelPath).isDirectory() ? modelPath : dirname(modelPath);
  const { tokenizer, endIds } = await openTokenizer(modelPath, folder);
  const stopIds = endTokens(folder, tokenizer, endIds);
  const own = ownTemplate(folder, tokenizer);
  if (chatTemplate === 'none') {
    const renderer = plainRenderer(tokenizer, { stopIds });
    return { tokenizer, renderer, template: own === undefined ? 'absent' : 'ignored' };
  }
  const source = chatTemplate === 'auto' ? own : readTemplate(chatTemplate);
  const template = createChatTemplate(source, tokenizer.roleTokens);
  return { tokenizer, renderer: chatRenderer(tokenizer, template, { stopIds }), template: 'applied' };
}

interface FoundTokenizer {
  readonly tokenizer: Tokenizer;
  /** Tokens that end a text, beyond what JSON files say. */
  readonly endIds: readonly number[];
}

async function openTokenizer(modelPath: string, folder: string): Promise<FoundTokenizer> {
  const description = readJson(folder, 'tokenizer.json');
  if (description) {
    const config = readJson(folder, 'tokenizer_config.json') ?? {};
    const tokenizer = createTokenizer(description, config, readJson(folder, 'special_tokens_map.json') ?? {});
    return { tokenizer, endIds: [] };
  }
  const gguf = ggufAt(modelPath);
  if (gguf) return tokenizerInside(gguf).catch((error) => Promise.reject(fileError(error, gguf)));
  throw new GradusError('TOKENIZER_NOT_FOUND', `${folder} has no tokenizer.json`, {
    hint: 'put the tokenizer files of the model beside its weights',
    path: 'model',
  });
}

async function tokenizerInside(path: string): Promise<FoundTokenizer> {
  const { description, config, endIds } = ggufTokenizer(await readGgufMetadata(path));
  return { tokenizer: createTokenizer(description, config), endIds };
}

/** All tokens that the model's files call the end: chat models have one for the turn and one for the text. */
function endTokens(folder: string, tokenizer: Tokenizer, more: readonly number[]): Set<number> {
  const named = ['generation_config.json', 'config.json'].map((file) => readJson(folder, file)?.eos_token_id);
  const ids = [...named.flat(), tokenizer.eosId, ...more].filter((id) => typeof id === 'number');
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

function readJson(folder: string, name: string): Json | undefined {
  const path = join(folder, name);
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GradusError('MODEL_FILE_INVALID', `${path} is not JSON: ${messageOf(cause)}`, {
      hint: 'download the model again',
      path: 'model',
      cause,
    });
  }
}
