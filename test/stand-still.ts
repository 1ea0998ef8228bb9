// Stops this program for a while, as Ctrl-Z or a paused container does.

/** Timers are due before anything else is read, as they are for a program that was stopped while it waited. */
export async function standStill(milliseconds: number): Promise<void> {
  await new Promise((done) => setImmediate(done));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
