// The types of home-folder.cjs.

/** The home folder of this process's user, as the environment says, else the system's list of users. Undefined if neither knows one. */
export function homeFolder(environment: Readonly<Record<string, string | undefined>>): string | undefined;
