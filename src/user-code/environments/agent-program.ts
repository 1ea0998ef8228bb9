// Runs a program that plays one episode: what it is given, what it may take, and what it leaves behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { AgentTask } from '../../agent.ts';
import { redacted } from '../../common/redaction.ts';
import { GradusError, isObject, messageOf, shortened } from '../../errors.ts';
import { killGroup } from '../../workers/kill-group.ts';
import { killMarked, watchGroup } from './program-group.ts';

export interface AgentProgram {
  readonly command: readonly string[];
  readonly folder: string;
  /** Bytes that its processes may take together. */
  readonly memory: number;
}

/** Bytes of stdout and stderr together. */
const MOST_OUTPUT = 2 ** 20;

/** Characters of stderr that an error quotes. */
const MOST_SAID = 1000;

/** Milliseconds for which output is still read after the program has ended. Whatever keeps the pipe open longer is ignored. */
const LAST_WORDS = 300;

/** The environment variable by which processes are found that have left the group. */
const MARK = 'GRADUS_ROLLOUT';

/**
 * Kills the group once the pipe at 3 is closed, as it is when this process ends in any way. It leads the group, as the program does in its place: `exec`
 * keeps the number of the process.
 */
const GUARDED = '(read -r _ <&3; kill -9 -$$) > /dev/null 2>&1 & exec 3<&- "$@"';

/** Plays an episode by a program. Returns what it reports. Throws if it fails, is ended, or exceeds a limit. */
export async function playInProgram(program: AgentProgram, { signal, ...task }: AgentTask): Promise<unknown> {
  signal.throwIfAborted();
  const child = started(program, task);
  const ended = Promise.withResolvers<{ readonly code: number | null; readonly by: string | null }>();
  const [out, said]: [Buffer[], Buffer[]] = [[], []];
  let size = 0;
  const stop = (why: unknown) => {
    ended.reject(why);
    killGroup(child);
  };
  for (const [stream, chunks] of [
    [child.stdout!, out],
    [child.stderr!, said],
  ] as const) {
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MOST_OUTPUT) stop(new Error(`it wrote more than ${MOST_OUTPUT / 2 ** 20} MiB`));
      else chunks.push(chunk);
    });
    stream.on('error', () => {});
  }
  const abort = () => stop(signal.reason);
  signal.addEventListener('abort', abort);
  child.on('error', (cause) => stop(notStarted(program, cause)));
  const finish = () => ended.resolve({ code: child.exitCode, by: child.signalCode });
  child.on('close', finish);
  child.on('exit', () => setTimeout(finish, LAST_WORDS));
  const forget = watchGroup(child.pid, program.memory, () => {
    stop(new Error(`it took more than ${program.memory / 2 ** 30} GiB of memory`));
  });
  // A program may end without reading its row.
  child.stdin!.on('error', () => {});
  child.stdin!.end(`${JSON.stringify(task.example)}\n`);
  try {
    const { code, by } = await ended.promise;
    if (code === 0) return resultIn(Buffer.concat(out).toString());
    throw failed(program, code, by, Buffer.concat(said).toString());
  } finally {
    forget();
    signal.removeEventListener('abort', abort);
    // What it started and left running.
    killGroup(child);
    killMarked(`${MARK}=${task.apiKey}`);
    for (const stream of child.stdio) stream?.destroy();
  }
}

function started(
  { command, folder }: AgentProgram,
  { baseURL, anthropicBaseURL, apiKey }: Omit<AgentTask, 'signal'>,
): ChildProcess {
  // A token of the user's would be sent in place of the key.
  const { ANTHROPIC_AUTH_TOKEN, ...own } = process.env;
  const env = {
    ...own,
    OPENAI_BASE_URL: baseURL,
    OPENAI_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: anthropicBaseURL,
    ANTHROPIC_API_KEY: apiKey,
    [MARK]: apiKey,
  };
  const [file, ...args] = command as [string, ...string[]];
  const options = { cwd: folder, env, detached: true, windowsHide: true } as const;
  if (process.platform === 'win32') return spawn(file, args, options);
  return spawn('sh', ['-c', GUARDED, 'sh', file, ...args], { ...options, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });
}

/** What the program's last line says, if it is a JSON object; or else all that it wrote is the text of its answer. */
function resultIn(output: string): unknown {
  const text = output.trim();
  try {
    const said: unknown = JSON.parse(text.slice(text.lastIndexOf('\n') + 1));
    if (isObject(said)) return said;
  } catch {
    // It is no JSON.
  }
  return { text };
}

function failed({ command }: AgentProgram, code: number | null, by: string | null, said: string): Error {
  const end = said.trim().slice(-MOST_SAID);
  const how = by === null ? `exit code ${code}` : by;
  const message = `${shortened(command.join(' '), 80)} ended with ${how}`;
  return new Error(end === '' ? message : `${message}: ${redacted(end)}`);
}

function notStarted({ command, folder }: AgentProgram, cause: Error): GradusError {
  // Node blames the shell for a folder that is missing.
  const why = existsSync(folder) ? messageOf(cause) : `there is no folder ${folder}`;
  return new GradusError('PROGRAM_FAILED', `${command[0]} does not start: ${why}`, {
    cause,
    kind: 'failed',
  });
}
