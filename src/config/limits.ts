// Upper limits for what is kept in memory at once: more than anybody needs, but not more than a machine holds.

/** Completions of a step, or of one call of `sample`. */
export const mostCompletions = 100_000;

/** Samples of one problem, for pass@k. */
export const mostSamples = 10_000;
