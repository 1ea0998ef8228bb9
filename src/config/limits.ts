// How much a configuration or an option may ask for of what is held at once: far more than anybody needs, but within a machine's memory.

/** Completions of a step, or of one call of `sample`. */
export const mostCompletions = 100_000;

/** Samples of one problem, for pass@k. */
export const mostSamples = 10_000;
