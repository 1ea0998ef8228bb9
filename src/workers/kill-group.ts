// Kills the process group that a process leads.

/**
 * Kills a process that was spawned with `detached: true`, and so leads a group, and all processes in the group, which may have outlived it. Does
 * nothing if all of them have ended, or if the process could not be started and has no id.
 */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended already.
  }
}
