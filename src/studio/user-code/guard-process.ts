// Within a process that runs user code: sees to it that nothing of it is left once nobody needs it.
import { Worker } from 'node:worker_threads';

/**
 * Ends this process, and whatever it has started, when the one that it works for is gone, or when it takes too much memory: in a thread, for user code
 * may not let go of this one.
 */
export function guardProcess(): void {
  const [parent, memory] = process.argv.slice(2).map(Number);
  const program = `
    const { parent, memory } = require('node:worker_threads').workerData;
    setInterval(() => {
      if (process.ppid !== parent || process.memoryUsage.rss() > memory) process.kill(-process.pid, 'SIGKILL');
    }, 100);`;
  new Worker(program, { eval: true, workerData: { parent, memory } }).unref();
  process.on('disconnect', () => {
    process.on('exit', () => process.kill(-process.pid, 'SIGKILL'));
    process.exit();
  });
}
