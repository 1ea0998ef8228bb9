// Gradus's folder in the user's cache, for files that are executed or loaded: nobody else may have put them there. In JavaScript: the command
// runs it before Node's cache of compiled files is there, in which types would be taken out of TypeScript each time.
'use strict';
const { chmodSync, lstatSync, mkdirSync, realpathSync, statSync } = require('node:fs');
const { dirname, isAbsolute, join } = require('node:path');
const { homeFolder } = require('./home-folder.cjs');

/** Where the user's caches are, by the XDG base directory specification, which ignores relative and empty paths. Undefined if unknown. */
function cacheFolder(environment) {
  const { XDG_CACHE_HOME: caches = '' } = environment;
  if (isAbsolute(caches)) return join(caches, 'gradus');
  const home = homeFolder(environment);
  return home === undefined ? undefined : join(home, '.cache', 'gradus');
}

/**
 * Makes the folder if it is missing, for this user only whatever the umask, and checks who can write to it.
 * @param name of a folder in it, which nobody else can read
 */
function privateCache(environment, name) {
  const cache = cacheFolder(environment);
  const folder = cache !== undefined && name !== undefined ? join(cache, name) : cache;
  if (folder === undefined) return { missing: 'neither XDG_CACHE_HOME nor HOME is an absolute path' };
  try {
    // Checks existing folders first: nothing is made below a folder that others can write to.
    const fault = faultAbove(existing(folder));
    if (fault !== undefined) return { missing: fault };
    makeFolder(folder);
    const later = faultAbove(folder) ?? faultOf(realpathSync(folder), true);
    if (later !== undefined) return { missing: later };
    if (name !== undefined && process.getuid) chmodSync(folder, 0o700);
    return { folder };
  } catch (error) {
    return { missing: error.message };
  }
}

/** Whether a file in such a folder is this user's own, and nobody else can write to it. */
function isOwnFile(path) {
  const stats = lstatSync(path);
  return stats.isFile() && faultIn(stats, true) === undefined;
}

/** One folder after the other: Node's own `recursive` never ends where a parent is there and nothing can be made in it, as in /proc. */
function makeFolder(path) {
  if (lstatSync(path, { throwIfNoEntry: false })) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it.
    if (error.code !== 'EEXIST') throw error;
  }
}

function existing(path) {
  return lstatSync(path, { throwIfNoEntry: false }) ? path : existing(dirname(path));
}

/** What is wrong with one of the folders on the path, including the paths that links lead to. */
function faultAbove(path) {
  for (let part = path; ; part = dirname(part)) {
    for (let real = realpathSync(part); ; real = dirname(real)) {
      const fault = faultOf(real, false);
      if (fault !== undefined) return fault;
      if (real === dirname(real)) break;
    }
    if (part === dirname(part)) return undefined;
  }
}

function faultOf(folder, mustBeOwn) {
  const fault = faultIn(statSync(folder), mustBeOwn);
  return fault === undefined ? undefined : `${folder} ${fault}`;
}

const [GROUP, OTHERS, STICKY] = [0o020, 0o002, 0o1000];

function faultIn({ uid, gid, mode }, mustBeOwn) {
  const own = process.getuid?.();
  if (own === undefined) return undefined; // Windows has no such modes; a user's folders are private there
  if (uid !== own && (mustBeOwn || uid !== 0)) return `belongs to user ${uid}, not to you`;
  // In a sticky folder, as for temporary files, users can replace only their own files.
  if (!mustBeOwn && (mode & STICKY) !== 0) return undefined;
  // Many systems give each user a group of the same number, and let it write.
  const isOwnGroup = !mustBeOwn && uid !== 0 && gid === uid;
  const shared = (mode & OTHERS) !== 0 || ((mode & GROUP) !== 0 && !isOwnGroup);
  return shared ? 'is writable by others' : undefined;
}

exports.privateCache = privateCache;
exports.isOwnFile = isOwnFile;
