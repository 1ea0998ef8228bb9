// Writes the app that trains a run at Modal: a Python file that names the machine, the image, the files to upload and the command.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { localAdapter } from '../../backends/model-files/find-adapter.ts';
import { milliseconds } from '../../config/durations.ts';
import { splitReference } from '../../config/references.ts';
import { placedRewards } from '../../config/reward-names.ts';
import type { Config } from '../../config/schema.ts';
import { packageRoot } from '../package-root.ts';

/** The paths of a file, here and on the rented machine. A path that ends with a slash is that of a folder. */
export type Upload = readonly [here: string, there: string];

export interface ModalApp {
  /** The files of the user that are uploaded. */
  readonly project: readonly Upload[];
  /** Writes `app.py` and the configuration into a folder. Returns the path of `app.py`. */
  write(folder: string): string;
}

const template = join(packageRoot, 'python', 'modal', 'app.py');
/** The files of Gradus itself that are uploaded, if they exist. */
const packageParts = [
  'bin/',
  'src/',
  'dist/',
  'python/gradus_worker/',
  'python/trl/',
  'package.json',
  'package-lock.json',
];
/** Patterns of files that are never uploaded with a folder of rewards or environments. */
const ignored = ['**/node_modules', '**/.git', '**/.venv', '**/__pycache__', '**/runs', '**/.cache', '**/.env*'];
/** The interpreter of the environment that Modal's `uv_sync` creates. */
const PYTHON = '/.uv/.venv/bin/python';

/**
 * Describes the app of a run; nothing is written before `write` is called.
 * @param run the name of the run, which is also its name on Modal's volume
 * @param argv additional arguments of `gradus train` on the rented machine
 */
export function modalApp(config: Config, run: string, argv: readonly string[] = []): ModalApp {
  const project: Upload[] = [];
  const remote = onModal(config, (path) => {
    const here = statSync(path).isDirectory() ? `${path}/` : path;
    const there = `/project/${project.length}/${basename(path)}`;
    project.push([here, there]);
    return there;
  });
  const { gpu, timeout, volume, secrets } = config.modal;
  return {
    project,
    write(folder) {
      mkdirSync(folder, { recursive: true });
      const configFile = join(folder, 'config.json');
      writeFileSync(configFile, `${JSON.stringify(remote, null, 2)}\n`);
      const spec = {
        app: `gradus-${run.replaceAll(/[^\w.-]/g, '-').slice(0, 50)}`,
        run,
        gpu,
        volume,
        secrets,
        timeout: milliseconds(timeout) / 1000,
        node: process.versions.node,
        lock: join(packageRoot, 'python', 'trl'),
        ignore: ignored,
        package: packageParts
          .filter((part) => existsSync(join(packageRoot, part)))
          .map((part) => [join(packageRoot, part), `/gradus/${part}`]),
        project: [...project, [configFile, '/project/config.json']],
        command: ['/gradus/bin/gradus', 'train', '/project/config.json', ...argv],
        environment: {
          GRADUS_TRL_PYTHON: PYTHON,
          GRADUS_PYTHON: PYTHON,
          HF_HOME: '/volume/huggingface',
          NO_COLOR: '1',
        },
      };
      const app = join(folder, 'app.py');
      // JSON in a string of Python: both escape alike what JSON.stringify escapes.
      const literal = `json.loads(${JSON.stringify(JSON.stringify(spec))})`;
      writeFileSync(
        app,
        readFileSync(template, 'utf8').replace(/^SPEC = \{\}/m, () => `SPEC = ${literal}`),
      );
      return app;
    },
  };
}

/** The configuration for the rented machine, with `compute: local` and the paths that uploaded files have there. */
function onModal(config: Config, upload: (path: string) => string): Config {
  const file = <T extends string | null>(path: T) =>
    path !== null && isAbsolute(path) && existsSync(path) ? upload(path) : path;
  // The whole folder is uploaded, since code may import files beside it.
  const code = (reference: string) => {
    const [path, name] = splitReference(reference);
    return `${upload(dirname(path))}/${basename(path)}${name === undefined ? '' : `:${name}`}`;
  };
  const { reward, reward_fn, environment, trl } = config;
  return {
    ...config,
    compute: 'local',
    model: file(config.model),
    adapter: file(config.adapter && (localAdapter(config.adapter) ?? config.adapter)),
    dataset: file(config.dataset),
    eval_dataset: file(config.eval_dataset),
    chat_template: file(config.chat_template),
    reward: placedRewards(reward, code),
    reward_fn: reward_fn && code(reward_fn),
    environment:
      environment === null || typeof environment === 'string'
        ? environment && code(environment)
        : Object.fromEntries(Object.entries(environment).map(([name, reference]) => [name, code(reference)])),
    trl: { ...trl, accelerate_config: file(trl.accelerate_config) },
  };
}
