// Kills a process with all that it has started in its group.

/**
 * Kills the group of a process that was spawned with `detached: true`, and so leads a group of its own: it and the processes that it has started, of
 * which some may have outlived it, but for those that have left the group since. Does nothing if all of them have ended, or if the process could not be started and has no id.
 */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended already.
  }
}
