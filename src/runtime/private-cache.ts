// Gradus's folder in the user's cache, for what is executed or loaded from there: nobody else may have put it there.
export { isOwnFile, privateCache } from '../../bin/private-cache.cjs';
