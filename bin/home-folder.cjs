// The home folder of this process's user. In JavaScript, since private-cache.cjs, which runs before Node's cache of compiled files is there, asks for it.
'use strict';
const { userInfo } = require('node:os');
const { isAbsolute } = require('node:path');

/** As the environment says, else as the system's list of users does. Undefined if neither knows, as in a container that runs under any number; Node's `homedir` throws there. */
function homeFolder({ HOME = '', USERPROFILE = '' }) {
  const given = process.platform === 'win32' ? USERPROFILE : HOME;
  if (isAbsolute(given)) return given;
  try {
    const { homedir } = userInfo();
    return isAbsolute(homedir) ? homedir : undefined;
  } catch {
    return undefined;
  }
}

exports.homeFolder = homeFolder;
