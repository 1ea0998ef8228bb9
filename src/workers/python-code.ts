// The worker that runs what users write in Python: asked one thing at a time, and replaced when it hangs or dies.
import { fileURLToPath } from 'node:url';
import { type CallHandler, startWorker, type Worker } from './worker.ts';

export interface PythonCodeOptions {
  /** The interpreter. @default $GRADUS_PYTHON, or else `python3`: that of the virtual environment, if one is active */
  readonly interpreter?: string;
  /** What user code may ask for while it works. */
  readonly handlers?: Readonly<Record<string, CallHandler>>;
}

const packages = fileURLToPath(new URL('../../python', import.meta.url));

/** Starts with the first call. What user code prints is in the worker's log. */
export class PythonCode {
  readonly #options: PythonCodeOptions;
  #worker: Promise<Worker> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PythonCodeOptions = {}) {
    this.#options = options;
  }

  /**
   * Waits for its turn, then for its answer. Throws what `startWorker` throws, `LOAD_FAILED` and `USER_CODE_FAILED` with what was raised and where,
   * `WORKER_DIED` and `WORKER_TIMED_OUT`; after these the next call starts another process.
   * @param timeout milliseconds that it may take once it is its turn
   */
  call(name: string, params: object, timeout: number): Promise<unknown> {
    const turn = this.#last.then(async () => {
      this.#worker ??= this.#start();
      try {
        const worker = await this.#worker;
        return await worker.call(name, params, { timeout });
      } catch (error) {
        if (!isUserCode(error)) this.#worker = undefined;
        throw error;
      }
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    (await this.#worker)?.close();
  }

  #start(): Promise<Worker> {
    const { interpreter = process.env.GRADUS_PYTHON ?? 'python3', handlers } = this.#options;
    return startWorker({
      ...{ name: 'python', command: interpreter, args: ['-m', 'gradus_worker.user_code'] },
      environment: { PYTHONPATH: packages },
      ...(handlers && { handlers }),
      fix: 'rewards and environments in Python need Python 3.10 or later: put python3 on the path, or name it with GRADUS_PYTHON',
    });
  }
}

function isUserCode(error: unknown): boolean {
  return ['LOAD_FAILED', 'USER_CODE_FAILED'].includes((error as { code?: unknown }).code as string);
}
