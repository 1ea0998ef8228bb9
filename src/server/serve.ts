// Serves the model of a run or of a configuration behind OpenAI's API.
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { OpenBackend } from '../backends/backend.ts';
import { backendOf } from '../backends/backends.ts';
import { ggufAt } from '../backends/model-files/gguf-file.ts';
import { type Config, type ConfigInput, configDefaults } from '../config/schema.ts';
import { GradusError } from '../errors.ts';
import { type FoundSubject, findSubject } from '../studio/evaluation/open-subject.ts';
import type { Listening, ListenOptions } from './listen.ts';
import type { OpenAiAppOptions } from './openai/openai-app.ts';
import { ServedModel } from './openai/served-model.ts';

export interface ServeOptions extends Omit<OpenAiAppOptions, 'host'>, Partial<ListenOptions> {
  /** `best`, `latest` or a step. @default 'best', or 'latest' if there is no best */
  readonly checkpoint?: string;
  /** The name of the model for clients. @default the run's name, or the model of the configuration */
  readonly name?: string;
  /** Cancels a download. */
  readonly signal?: AbortSignal;
}

export interface Serving extends Listening {
  /** The name of the model. */
  readonly model: string;
  /** Absent if a configuration is served, whose model is untrained. */
  readonly run?: { readonly dir: string; readonly step: number };
}

/**
 * Opens the model, without data and rewards, and serves until it is closed. Throws `SERVE_UNSUPPORTED`, `PORT_TAKEN`, `ADDRESS_INVALID`, and the
 * errors of opening a model.
 * @param subject a run (its directory, its name under `runs/`, or `latest`), a config file, a configuration, or a model's folder or .gguf file
 */
export async function serve(subject: string | ConfigInput, options: ServeOptions = {}): Promise<Serving> {
  const alone = modelAlone(subject);
  const { config, directory, checkpoint } = alone ?? findSubject(subject, { checkpoint: options.checkpoint });
  const { model, renderer, tokenizer, chats } = await (alone ? openAlone : open)(config, options.signal);
  try {
    if (!tokenizer) {
      throw new GradusError(
        'SERVE_UNSUPPORTED',
        `backend ${config.backend} learns a table of logits: there is no language model to serve`,
        {
          hint: 'serve a run of backend native or trl',
          path: 'backend',
        },
      );
    }
    if (checkpoint) await model.load(checkpoint.folder, { weightsOnly: true });
    const id = options.name ?? (directory === undefined ? nameOf(config.model!) : basename(directory));
    const served = new ServedModel({ id, policy: model.policy(), renderer, tokenizer, chats });
    const { host = '127.0.0.1', port = 8000 } = options;
    // Imported here, so that programs that do not serve need not load the HTTP libraries.
    const [{ listen }, { openAiApp }] = await Promise.all([import('./listen.ts'), import('./openai/openai-app.ts')]);
    const listening = await listen(openAiApp(served, { ...options, host }), { host, port });
    return {
      url: listening.url,
      model: id,
      ...(checkpoint && directory !== undefined && { run: { dir: directory, step: checkpoint.state.step } }),
      async close() {
        await listening.close();
        await served.idle();
        model.dispose();
      },
    };
  } catch (error) {
    model.dispose();
    throw error;
  }
}

/** A model, and whether it accepts messages. */
type Opened = OpenBackend & { readonly chats: boolean };

async function open(config: Config, signal?: AbortSignal): Promise<Opened> {
  const backend = await backendOf(config);
  return { ...(await backend.open(config, signal)), chats: true };
}

/** Base models only continue texts: without a chat template, there is no format for messages. */
async function openAlone(config: Config, signal?: AbortSignal): Promise<Opened> {
  try {
    return await open(config, signal);
  } catch (error) {
    if (!(error instanceof GradusError && error.code === 'CHAT_TEMPLATE_MISSING')) throw error;
    return { ...(await open({ ...config, chat_template: 'none' }, signal)), chats: false };
  }
}

/** A model on this machine, which can be served without a configuration; undefined if the subject is not a model. */
function modelAlone(subject: string | ConfigInput): FoundSubject | undefined {
  if (typeof subject !== 'string' || !existsSync(subject)) return undefined;
  const isModel = existsSync(join(subject, 'config.json')) || ggufAt(subject) !== undefined;
  return isModel ? { config: { ...configDefaults, model: resolve(subject) } } : undefined;
}

/** The id of a model on the hub, or the last part of a path. */
function nameOf(model: string): string {
  return /^[./]/.test(model) ? basename(model, '.gguf') : model;
}
