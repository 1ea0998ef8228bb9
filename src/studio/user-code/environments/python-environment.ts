// Environments that users write in Python: those that score completions themselves, and TRL's, whose methods are tools.
import { z } from 'zod';
import type { Environment } from '../../../environment.ts';
import { toolEnvironment } from '../../../envs/tool-environment.ts';
import { GradusError } from '../../../errors.ts';
import type { Message } from '../../../message.ts';
import type { Action, Env, Example } from '../../../rl.ts';
import type { Tool } from '../../../tools/tool.ts';
import { PythonCode } from '../../../workers/python-code.ts';
import type { CallHandler } from '../../../workers/worker.ts';
import { loadPythonModule, parsePython } from '../python-module.ts';

const described = z.strictObject({
  /** `scorer` has score_episode, `tools` has reset and tools as methods. */
  style: z.enum(['scorer', 'tools']),
  scored: z.boolean(),
  has_dataset: z.boolean(),
  tools: z.array(
    z.looseObject({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
  ),
});

const message = z.looseObject({ role: z.enum(['system', 'user', 'assistant', 'tool']), content: z.string() });
const score = z.number().nullable();
const rows = z.array(z.record(z.string(), z.unknown()));
const observation = z.string().nullable();
const prompt = z.union([z.string(), z.array(message).nonempty()]).default('');

/** Milliseconds that loading the file, or making its data set, may take; that a tool may; and that a whole score may, with what it generates. */
const limits = { load: 120_000, step: 10_000, score: 300_000 };

/**
 * One process plays all episodes, one call at a time. When a call hangs or ends it, the episodes under way break off and the next begin in another.
 * Throws `ENVIRONMENT_LOAD_FAILED`, `WORKER_MISSING`, `PYTHON_TOO_OLD`.
 * @param reference `path/to/file.py:Class`
 * @param config what its constructor is given
 * @param handlers what it may ask of the model and the tokenizer
 */
export async function loadPythonEnvironment(
  reference: string,
  config: Readonly<Record<string, unknown>>,
  handlers: Readonly<Record<string, CallHandler>> = {},
): Promise<Environment> {
  const { path, name } = parsePython(reference, 'Environment');
  const python = new PythonCode({ handlers });
  const { style, scored, has_dataset, tools } = described.parse(
    await loadPythonModule(path, 'ENVIRONMENT_LOAD_FAILED', () =>
      python.call('describe', { path, name, config }, limits.load),
    ),
  );
  const code = { path, name, config };

  const scorer = (row: Example): Env => {
    let completion = '';
    return {
      start: () => ({ messages: promptOf(row), ...(tools.length > 0 && { tools }) }),
      step({ message }: Action) {
        completion = textOf(message);
        return null;
      },
      score: async () => ({
        [name]: score.parse(await python.call('score_episode', { ...code, completion, row }, limits.score)),
      }),
    };
  };

  let episodes = 0;
  const player = async (row: Example): Promise<Env> => {
    const episode = ++episodes;
    const said = observation.parse(await python.call('reset', { ...code, episode, row }, limits.step));
    const answering = tools.map(
      (spec): Tool => ({
        ...spec,
        call: (args) =>
          python.call('call_tool', { path, episode, tool: spec.name, arguments: args as object }, limits.step),
      }),
    );
    return toolEnvironment({
      prompt: () => withObservation(promptOf(row), said ?? ''),
      tools: answering,
      ...(scored && {
        scores: { [name]: async () => score.parse(await python.call('finish', { path, episode }, limits.score)) },
      }),
    }).build(row);
  };

  return {
    build: style === 'scorer' ? scorer : player,
    scores: scored ? [name] : [],
    ...(has_dataset && {
      buildDataset: async () => ({
        train: rows.parse(
          await loadPythonModule(path, 'ENVIRONMENT_FAILED', () => python.call('build_dataset', code, limits.load)),
        ),
      }),
    }),
  };
}

/** The column `prompt`: a text, or messages. */
function promptOf(row: Example): readonly Message[] {
  const { success, data } = prompt.safeParse(row.prompt);
  if (!success) {
    throw new GradusError('ENVIRONMENT_FAILED', 'the column prompt holds neither a text nor messages', {
      path: 'prompt',
    });
  }
  return typeof data === 'string' ? [{ role: 'user', content: data }] : data;
}

/** What an environment says first is the end of the last message. */
function withObservation(messages: readonly Message[], observation: string): readonly Message[] {
  const last = messages.at(-1)!;
  return [...messages.slice(0, -1), { ...last, content: last.content + observation }];
}

/** A turn as text, calls of tools included. */
function textOf({ content, toolCalls = [] }: Message): string {
  const calls = toolCalls.map(
    ({ name, arguments: args }) => `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`,
  );
  return [content, ...calls].filter(Boolean).join('\n');
}
