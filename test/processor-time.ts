// How long work keeps the processor busy, for tests of what must be quick: whatever else the machine does costs it nothing.

/** Milliseconds, of all threads of this process. */
export async function processorTime(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
