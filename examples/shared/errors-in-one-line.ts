// What the examples share: errors are told as the command tells them, in one line with what to do, or with GRADUS_DEBUG=1 whole.

/** From now on, for a process that is the example's own. */
export function tellErrorsInOneLine(): void {
  process.on('uncaughtException', (error: Error & { readonly hint?: string }) => {
    console.error(process.env.GRADUS_DEBUG ? error : `error: ${error.message}${error.hint ? ` (${error.hint})` : ''}`);
    process.exit(1);
  });
}
