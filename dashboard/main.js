// The dashboard: shows the view that the URL names.
import './locale.js';
import { compareView } from './compare-view.js';
import { h } from './dom.js';
import { errorBox } from './faults.js';
import { currentRoute } from './route.js';
import { runView } from './run-view.js';
import { runsView } from './runs-view.js';

/**
 * A view creates its content, and stops its background work when the signal is aborted.
 * @typedef {(route: import('./route.js').Route, signal: AbortSignal) => Promise<Node>} View
 */

const place = /** @type {HTMLElement} */ (document.getElementById('view'));
let leaving = new AbortController();
let shownPath = '';

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const route = currentRoute();
  const content = await viewOf(route)(route, signal).catch((error) =>
    h('div', {}, errorBox(error), h('p', {}, h('a', { href: '#/runs' }, 'All runs'))),
  );
  // The reader has gone to another view in the meantime.
  if (signal.aborted) return;
  place.replaceChildren(content);
  const path = route.path.join('/');
  if (path !== shownPath) window.scrollTo(0, 0);
  shownPath = path;
  document.title = [...route.path.slice(1), 'Gradus'].join(' · ');
}

/**
 * @param {import('./route.js').Route} route
 * @returns {View}
 */
function viewOf({ path }) {
  if (path[0] === 'compare') return compareView;
  return path[0] === 'runs' && path.length > 1 ? runView : runsView;
}

window.addEventListener('hashchange', show);
window.addEventListener('gradus-again', show);
show();
