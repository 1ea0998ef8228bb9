// Shared by the examples: errors are printed as the command prints them, in one line with a hint; with GRADUS_DEBUG=1 in full.

export function printErrorsInOneLine(): void {
  process.on('uncaughtException', (error: Error & { readonly hint?: string }) => {
    console.error(process.env.GRADUS_DEBUG ? error : `error: ${error.message}${error.hint ? ` (${error.hint})` : ''}`);
    process.exit(1);
  });
}
