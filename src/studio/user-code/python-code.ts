// Loads what users write in Python: reward functions.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { GradusError, messageOf } from '../../errors.ts';
import { meanMetrics } from '../../logging.ts';
import type { Message } from '../../message.ts';
import type { Fault, Judged, Progress, RemoteReward } from '../../rewards.ts';
import { PythonCode, type PythonCodeOptions } from '../../workers/python-code.ts';

interface Scored {
  readonly scores: readonly (number | null | Fault)[];
  readonly metrics: readonly (readonly [name: string, value: number])[];
  readonly extra: Readonly<Record<string, readonly unknown[]>>;
}

export interface PythonRewardOptions extends PythonCodeOptions {
  /** Whether it gets prompts and completions as lists of messages, as TRL gives them for conversational data; else as texts. @default true */
  readonly conversational?: boolean;
  /** Processes that share its calls. @default 1 */
  readonly processes?: number;
}

/** Milliseconds that a file may take to load: it may import large packages. */
const loadLimit = 120_000;

/**
 * A function of TRL's signature, `def f(prompts, completions, completion_ids, **columns)`, asynchronous or not; `reward` where the reference names
 * none. Its process is replaced when a call takes too long or ends it. Throws `REWARD_LOAD_FAILED`, `WORKER_MISSING`, `PYTHON_TOO_OLD`.
 */
export async function loadPythonReward(
  reference: string,
  { conversational = true, processes = 1, ...options }: PythonRewardOptions = {},
): Promise<RemoteReward> {
  const { path, name } = parsePython(reference, 'reward');
  const all = Array.from({ length: processes }, () => new PythonCode(options));
  await loadedPython(path, 'REWARD_LOAD_FAILED', () => all[0]!.call('load_reward', { path, name }, loadLimit));
  return {
    async call(judged, timeLimit) {
      const python = all.reduce((least, other) => (other.waiting < least.waiting ? other : least));
      const params = { path, name, ...(conversational ? asMessages(judged) : asTexts(judged)) };
      try {
        const { scores, metrics, extra } = (await python.call('score', params, timeLimit)) as Scored;
        return { scores, metrics: meanMetrics(metrics.map(([metric, value]) => ({ [metric]: value }))), extra };
      } catch (error) {
        return { fault: { message: messageOf(error) } };
      }
    },
  };
}

function asMessages({ prompts, completions, completionIds, columns, progress }: Judged) {
  return {
    prompts: prompts.map((messages) => messages.map(huggingFaceMessage)),
    completions: completions.map((content) => [{ role: 'assistant', content }]),
    completion_ids: completionIds,
    columns,
    ...trainerState(progress),
  };
}

/** Without a chat template the messages of a prompt are one text, an empty line between each two. */
function asTexts({ prompts, completions, completionIds, columns, progress }: Judged) {
  return {
    prompts: prompts.map((messages) => messages.map(({ content }) => content).join('\n\n')),
    completions,
    completion_ids: completionIds,
    columns,
    ...trainerState(progress),
  };
}

/** What is true of TRL's in a run of ours. */
function trainerState(progress: Progress | undefined) {
  return progress && { trainer_state: { global_step: progress.step, max_steps: progress.maxSteps } };
}

/** A message as chat templates and TRL know it. */
function huggingFaceMessage({ role, content, toolCalls, toolCallId }: Message): object {
  const calls = toolCalls?.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  return { role, content, ...(calls && { tool_calls: calls }), ...(toolCallId && { tool_call_id: toolCallId }) };
}

/** The parts of `path/to/file.py:name`. */
export function parsePython(reference: string, defaultName: string): { readonly path: string; readonly name: string } {
  const [path, name = defaultName] = reference.split(/:(?=\w+$)/) as [string, string?];
  return { path: resolve(path), name };
}

/** What is wrong with a file gets a code of its own. */
export async function loadedPython(path: string, code: string, work: () => Promise<unknown>): Promise<unknown> {
  const failed = (fault: string, hint?: string) =>
    new GradusError(code, `cannot load ${path}: ${fault}`, { ...(hint && { hint }), path });
  if (!existsSync(path)) throw failed('the file is missing', `paths are relative to ${process.cwd()}`);
  return work().catch((error) => {
    throw error.kind === 'not_ready' ? error : failed(messageOf(error), error.hint);
  });
}
