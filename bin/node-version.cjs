// Which versions of Node the package runs on: package.json's `engines`, which npm only warns about. This file must parse on Node 18.
'use strict';

/** The oldest release of each line that is new enough: what 22.15 brought came to 23 with 23.8. Later lines have had it from the start. */
const oldest = { 22: 18, 23: 8 };

/** The version that is needed instead of one, such as 22.17.1, that is too old; undefined if it is not. */
function neededNode(version) {
  const [major, minor] = version.split('.').map(Number);
  if (major < 22) return neededNode('22.0');
  return minor < oldest[major] ? `${major}.${oldest[major]}` : undefined;
}

exports.neededNode = neededNode;
