// The types of private-cache.cjs.

/** The folder, or why none is safe. */
export type PrivateCache = { readonly folder: string } | { readonly missing: string };

/**
 * Makes Gradus's folder in the user's cache if there is none, for this user alone whatever the umask is, and checks who can write to it.
 * @param name of a folder in it, which nobody else can even read
 */
export function privateCache(environment: NodeJS.ProcessEnv, name?: string): PrivateCache;

/** Whether a file in such a folder is this user's own, and nobody else can write to it. */
export function isOwnFile(path: string): boolean;
