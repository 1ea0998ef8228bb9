// Checks whether this machine has what training needs: `gradus doctor` for programs.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { loadConfigFile } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { type CheckId, type CheckSubject, findOut, machineChecks } from './machine-checks.ts';

type Backend = Config['backend'];
type Compute = Config['compute'];

export interface DoctorOptions {
  /** @default the configuration's, or 'native' */
  readonly backend?: Backend;
  /** A config file: judge what it needs. @default what the backend needs at least */
  readonly config?: string;
  /** Whether to run commands that fix required checks which failed, and check again. @default false */
  readonly fix?: boolean;
  /** @default process.env */
  readonly environment?: CheckSubject['environment'];
  /** Told of each command before it runs. */
  readonly onCommand?: (command: string) => void;
}

export interface CheckResult {
  readonly id: CheckId;
  readonly ok: boolean;
  /** Whether the backend, or the configuration, cannot do without it. */
  readonly required: boolean;
  readonly detail: string;
  readonly fix?: string;
  /** Present and true if `fix` made it ok. */
  readonly fixed?: boolean;
}

export interface DoctorResult {
  readonly ok: boolean;
  readonly schema: 'doctor.result/1';
  readonly command: 'doctor';
  readonly backend: Backend;
  readonly compute: Compute;
  readonly checks: readonly CheckResult[];
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
}

/** What every backend needs, and what each needs besides. */
const always: readonly CheckId[] = ['node', 'disk'];
const neededBy: Readonly<Record<Backend, readonly CheckId[]>> = {
  builtin: [],
  native: ['hardware', 'memory', 'onnxruntime'],
  trl: ['trl'],
  unsloth: ['unsloth', 'uv'],
  verl: ['verl', 'uv'],
  tinker: ['tinker', 'uv', 'tinker_key'],
};
const credentialChecks: readonly CheckId[] = ['hf_token', 'modal_token', 'tinker_key'];

/** Never throws for what is missing; throws what loading the configuration throws. */
export async function doctor(options: DoctorOptions = {}): Promise<DoctorResult> {
  const { fix = false, environment = process.env } = options;
  const settings = options.backend === undefined ? [] : [`backend=${options.backend}`];
  const config =
    options.config === undefined ? undefined : loadConfigFile(options.config, settings, { anyBackend: true }).config;
  const { backend = options.backend ?? 'native', compute = 'local' } = config ?? {};
  const subject = { environment, ...(config && { config }) };
  const required = requirements(backend, compute, config);
  const ids = (Object.keys(machineChecks) as CheckId[]).filter((id) => config !== undefined || id !== 'model');
  const checks = await Promise.all(ids.map((id) => check(id, subject, required.has(id), fix, options.onCommand)));
  const failing = checks.filter(({ ok, required }) => required && !ok);
  return {
    ok: failing.length === 0,
    schema: 'doctor.result/1',
    command: 'doctor',
    ...{ backend, compute, checks },
    ...(failing.length > 0 && { error: notReady(failing, `backend ${backend}`) }),
  };
}

/** What a backend on a computer of some kind cannot do without. */
export function requirements(backend: Backend, compute: Compute, config?: Config): ReadonlySet<CheckId> {
  const { device } = config?.native ?? {};
  // The rented machine has the engine and fetches the model.
  if (compute === 'modal') return new Set([...always, 'uv', 'modal_token']);
  return new Set([
    ...always,
    ...neededBy[backend],
    ...(backend === 'trl' && config && needsGpu(config) ? (['gpu'] as const) : []),
    ...(backend === 'native' && (device === 'webgpu' || device === 'cuda') ? [device] : []),
    ...(config && backend !== 'tinker' ? (['model'] as const) : []),
  ]);
}

/** Whether TRL is told to do what no CPU does. */
function needsGpu({ trl }: Config): boolean {
  return trl.bf16 === true || trl.load_in_4bit || trl.use_vllm;
}

/** `CREDENTIALS_MISSING` where nothing but credentials is missing, else `NOT_READY`. */
export function notReady(
  failing: readonly Pick<CheckResult, 'id' | 'detail' | 'fix'>[],
  what: string,
): NonNullable<DoctorResult['error']> {
  const onlyCredentials = failing.every(({ id }) => credentialChecks.includes(id));
  const [first] = failing;
  return {
    code: onlyCredentials ? 'CREDENTIALS_MISSING' : 'NOT_READY',
    message: `${what} is not ready: ${failing.map(({ id, detail }) => `${id} (${detail})`).join(', ')}`,
    hint: first!.fix ?? 'see the checks',
  };
}

async function check(
  id: CheckId,
  subject: CheckSubject,
  required: boolean,
  fix: boolean,
  onCommand: DoctorOptions['onCommand'],
): Promise<CheckResult> {
  const found = await findOut(id, subject);
  const { fixCommand, ...finding } = found;
  if (found.ok || !fixCommand || !required || !fix) return { id, required, ...finding };
  onCommand?.(fixCommand.join(' '));
  const [program, ...args] = fixCommand;
  const fault = await promisify(execFile)(program!, args).then(
    () => undefined,
    ({ stderr, message }: Error & { readonly stderr?: string }) => (stderr || message).trim().split('\n').at(-1),
  );
  const { fixCommand: _, ...now } = await findOut(id, subject);
  if (now.ok) return { id, required, ...now, fixed: true };
  return { id, required, ...now, ...(fault && { detail: `${now.detail}; ${program} failed: ${fault}` }) };
}
