// The current view, kept in the URL after `#`, so that every state has a link.

/**
 * @typedef {object} Route
 * @property {string[]} path
 * @property {URLSearchParams} query
 */

/** @returns {Route} */
export function currentRoute() {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * @param {readonly (string | number)[]} path
 * @param {URLSearchParams | Record<string, string>} [query]
 */
export function link(path, query) {
  const text = new URLSearchParams(query).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text && `?${text}`}`;
}

/** @param {string} hash */
export function go(hash) {
  location.hash = hash;
}

/**
 * Changes the URL without showing another view, for a view that has updated itself.
 * @param {Record<string, string | readonly string[] | undefined>} changes
 */
export function setQuery(changes) {
  const { path, query } = currentRoute();
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const each of typeof value === 'string' ? [value] : (value ?? [])) if (each) query.append(name, each);
  }
  history.replaceState(null, '', link(path, query));
}
