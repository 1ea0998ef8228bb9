// Runs untrusted programs in a Linux sandbox, without network and with a file system of their own. Without a sandbox, it refuses to run them.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GradusError, messageOf } from '../../../errors.ts';
import type { CodeLanguage } from '../../../rewards/code-harness.ts';
import type { Program, ProgramEnd, RunProgram } from '../../../rewards/code-tests.ts';
import { killGroup } from '../../../workers/kill-group.ts';

interface Interpreter {
  readonly command: readonly string[];
  /** Folders that the interpreter reads, besides those of the system. */
  readonly folders: readonly string[];
  /** Megabytes that the interpreter takes before it runs anything. */
  readonly overheadMb: number;
}

/** Bytes of output that are read; a program that writes more is stopped. */
const MOST_OUTPUT = 1 << 20;

/** Processes and threads; Node alone has a dozen. */
const MOST_PROCESSES = 40;

/** What starting a sandbox may take, in milliseconds, besides the program's own time. */
const START_TIME = 2000;

/**
 * Runs a program with namespaces of its own for users, mounts, processes and network. It sees the system's programs and libraries and its
 * interpreter, all read-only, an empty folder to write to, no environment and no process but its own; all of them die with it. Memory, files,
 * processes and time are limited. Without a sandbox, `allowUnsandboxed` leaves nothing but the limits.
 */
export const runProgram: RunProgram = async (program) => {
  if (await isSandboxed(program.language)) return runSandboxed(program);
  if (program.allowUnsandboxed) return runLimited(program);
  throw unavailable();
};

/** Throws `SANDBOX_UNAVAILABLE` where every program would be refused. */
export async function assertSandboxed(language: CodeLanguage): Promise<void> {
  if (!(await isSandboxed(language))) throw unavailable();
}

function unavailable(): GradusError {
  return new GradusError('SANDBOX_UNAVAILABLE', 'code cannot be kept from files and network on this system', {
    hint: 'run on Linux with unshare, setpriv and user namespaces, or set allow_unsandboxed: true if what it may do is no matter',
    path: 'allow_unsandboxed',
    kind: 'not_ready',
  });
}

const tried = new Map<CodeLanguage, Promise<boolean>>();

/** Whether a sandbox works here, which is tried once. Throws `PYTHON_NOT_FOUND`. */
export function isSandboxed(language: CodeLanguage): Promise<boolean> {
  const known = tried.get(language) ?? trySandbox(language);
  tried.set(language, known);
  return known;
}

async function trySandbox(language: CodeLanguage): Promise<boolean> {
  await interpreterOf(language);
  if (process.platform !== 'linux') return false;
  const source = { python: 'print("ready")', javascript: 'console.log("ready")' }[language];
  const limits = { timeoutMs: 10_000, memoryMb: 64, fileMb: 1, allowUnsandboxed: false };
  // Without unshare or setpriv nothing starts.
  const end = await runSandboxed({ language, source, input: '', ...limits }).catch(() => undefined);
  return end?.output.trim() === 'ready';
}

/**
 * Mounts a small root: the folders given, read-only, the devices that programs expect, and one folder to write to; then drops every right.
 * $1 is an empty folder, $2 the megabytes of files, $3 setpriv’s options to become somebody else, $4 how many folders follow; the rest is the program.
 */
const ENTER = `set -e
root=$1 size=$2 become=$3 count=$4; shift 4
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$root"
while [ "$count" -gt 0 ]; do
  if [ -L "$1" ]; then ln -s "$(readlink "$1")" "$root$1"
  else mkdir -p "$root$1"; mount --rbind "$1" "$root$1"; mount -o remount,bind,ro,nosuid,nodev "$root$1"; fi
  shift; count=$((count - 1))
done
mkdir -p "$root/dev" "$root/tmp" "$root/old" "$root/proc"
for device in null zero urandom; do : > "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mount -t tmpfs -o "size=\${size}m,mode=1777,nosuid,nodev" tmpfs "$root/tmp"
mount --rbind /proc "$root/proc" # umount reads it
cd "$root"; pivot_root . old; umount -l /old; mount -o remount,bind,ro,nosuid,nodev /; umount -l /proc; cd /tmp
exec setpriv $become --no-new-privs --bounding-set=-all --inh-caps=-all "$@"`;

const systemFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64'].filter((path) => existsSync(path));

async function runSandboxed(program: Program): Promise<ProgramEnd> {
  const interpreter = await interpreterOf(program.language);
  const isRoot = process.getuid?.() === 0;
  const folders = [...systemFolders, ...interpreter.folders];
  const root = mkdtempSync(join(tmpdir(), 'gradus-sandbox-'));
  try {
    return await ended(
      spawn(
        'setpriv',
        [
          '--pdeathsig',
          'KILL',
          'unshare',
          ...(isRoot ? [] : ['--user', '--map-root-user']),
          '--mount',
          '--net',
          '--pid',
          '--ipc',
          '--uts',
          '--fork',
          '--kill-child',
          'sh',
          '-c',
          ENTER,
          'sh',
          root,
          String(program.fileMb),
          isRoot ? becomeNobody() : '',
          String(folders.length),
          ...folders,
          ...limited(program, interpreter),
        ],
        { env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }, detached: true, stdio: ['pipe', 'pipe', 'ignore'] },
      ),
      program,
      START_TIME,
    );
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** Each program gets its own user, since the limit on processes counts all processes of a user. */
function becomeNobody(): string {
  const id = 2 ** 30 + randomInt(2 ** 30);
  return `--reuid=${id} --regid=${id} --clear-groups`;
}

/** Runs a program without a sandbox: with limits, an empty environment and a folder of its own, which it can leave. */
export async function runLimited(program: Program): Promise<ProgramEnd> {
  const cwd = mkdtempSync(join(tmpdir(), 'gradus-code-'));
  try {
    const [command, ...args] = limited(program, await interpreterOf(program.language));
    const env = { PATH: process.env.PATH ?? '' };
    return await ended(
      spawn(command!, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'ignore'] }),
      program,
      0,
    );
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

/** Memory is what a process may write to; reserving addresses, as Node does by the gigabyte, is free. The clock limits time; processor time is a second line. */
function limited({ source, timeoutMs, memoryMb, fileMb }: Program, interpreter: Interpreter): string[] {
  const run = [...interpreter.command, source];
  if (process.platform !== 'linux') return run;
  const megabyte = 2 ** 20;
  return [
    'prlimit',
    `--data=${(interpreter.overheadMb + memoryMb) * megabyte}`,
    `--fsize=${fileMb * megabyte}`,
    `--nproc=${MOST_PROCESSES}`,
    '--nofile=256',
    '--core=0',
    `--cpu=${Math.ceil(timeoutMs / 1000) + 10}`,
    ...run,
  ];
}

/** Feeds a process and waits for its end; out of time, ends it with all the processes of its group. */
function ended(child: ChildProcess, { input, timeoutMs }: Program, extraTime: number): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let stopped: ProgramEnd['stopped'];
    const stop = (why: NonNullable<ProgramEnd['stopped']>) => {
      stopped ??= why;
      killGroup(child.pid);
    };
    const timer = setTimeout(stop, timeoutMs + extraTime, 'time');
    child.stdout!.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MOST_OUTPUT) stop('output');
      else chunks.push(chunk);
    });
    child.on('error', (cause) => {
      clearTimeout(timer);
      reject(new GradusError('PROGRAM_FAILED', `cannot start ${child.spawnfile}: ${messageOf(cause)}`, { cause }));
    });
    child.on('close', () => {
      clearTimeout(timer);
      // Ends what the program started and left running, which without a sandbox outlives it.
      killGroup(child.pid);
      resolve({ output: String(Buffer.concat(chunks)), ...(stopped && { stopped }) });
    });
    // A program may end without reading its input.
    child.stdin!.on('error', () => {});
    child.stdin!.end(input);
  });
}

const found = new Map<CodeLanguage, Promise<Interpreter>>();

function interpreterOf(language: CodeLanguage): Promise<Interpreter> {
  const known = found.get(language) ?? (language === 'python' ? findPython() : Promise.resolve(thisNode()));
  found.set(language, known);
  return known;
}

function thisNode(): Interpreter {
  const path = realpathSync(process.execPath);
  const folders = path.startsWith('/usr/') ? [] : [join(path, '..')];
  return { command: [path, '--max-old-space-size=256', '-e'], folders, overheadMb: 640 };
}

async function findPython(): Promise<Interpreter> {
  const ask = 'import os, sys; print(os.path.realpath(sys.executable)); print(sys.base_prefix)';
  try {
    const { stdout } = await promisify(execFile)('python3', ['-I', '-c', ask]);
    const [path, prefix] = stdout.trim().split('\n');
    const folders = path!.startsWith('/usr/') ? [] : [realpathSync(prefix!)];
    return { command: [path!, '-I', '-S', '-c'], folders, overheadMb: 0 };
  } catch (cause) {
    throw new GradusError('PYTHON_NOT_FOUND', 'python3 does not run, which code_tests needs for Python', {
      hint: 'install Python, or set language: javascript',
      path: 'language',
      kind: 'not_ready',
      cause,
    });
  }
}
