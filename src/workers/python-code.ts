// A worker that runs Python code of users. It gets one call at a time, and is replaced when it hangs or exits.
import { fileURLToPath } from 'node:url';
import { type CallHandler, startWorker, type Worker } from './worker.ts';

export interface PythonCodeOptions {
  /** The interpreter. @default $GRADUS_PYTHON, or else `python3`: that of the virtual environment, if one is active */
  readonly interpreter?: string;
  /** What user code may ask for while it works. */
  readonly handlers?: Readonly<Record<string, CallHandler>>;
}

/** Nothing in the working directory is taken for a module of Python's own. */
const program = 'import sys; sys.path[0] = sys.argv[1]; from gradus_worker.user_code.start import start; start()';
const packages = fileURLToPath(new URL('../../python', import.meta.url));

/** Ends the processes of those who are no longer needed. */
const abandoned = new FinalizationRegistry<Worker>((worker) => worker.close());

/** Starts with the first call, and ends when nobody refers to it any more. What user code prints goes to stderr. */
export class PythonCode {
  /** Calls that have no answer yet. */
  waiting = 0;
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
    this.waiting++;
    const turn = this.#last.then(async () => {
      this.#worker ??= this.#start();
      try {
        const worker = await this.#worker;
        return await worker.call(name, params, { timeout });
      } catch (error) {
        if (!isUserCode(error)) this.#worker = undefined;
        throw error;
      } finally {
        this.waiting--;
      }
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #start(): Promise<Worker> {
    const { interpreter = process.env.GRADUS_PYTHON ?? 'python3', handlers } = this.#options;
    const worker = await startWorker({
      ...{ name: 'python', command: interpreter, args: ['-c', program, packages] },
      stderr: 'inherit',
      ...(handlers && { handlers }),
      fix: 'rewards and environments in Python need Python 3.10 or later: put python3 on the path, or name it with GRADUS_PYTHON',
    });
    abandoned.register(this, worker);
    return worker;
  }
}

function isUserCode(error: unknown): boolean {
  return ['LOAD_FAILED', 'USER_CODE_FAILED'].includes((error as { code?: unknown }).code as string);
}
