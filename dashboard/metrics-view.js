// Every metric of a run: a chart for each key of metrics.jsonl, timings.jsonl and evals.jsonl, with a text filter.
import { chartView } from './chart-view.js';
import { Chart } from './charts.js';
import { h } from './dom.js';
import { setQuery } from './route.js';

/** @typedef {import('./columns.js').Columns} Columns */

/**
 * @param {Columns} columns
 * @param {URLSearchParams} query
 * @param {AbortSignal} signal
 */
export function metricsView(columns, query, signal) {
  /** @type {Map<string, Chart>} */
  const charts = new Map();
  const grid = h('div', { class: 'charts small' });
  const count = h('span', { class: 'quiet' });
  const filter = h('input', {
    type: 'search',
    value: query.get('filter') ?? '',
    placeholder: 'filter: reward std',
    'aria-label': 'filter',
    oninput: () => {
      setQuery({ filter: filter.value });
      draw();
    },
  });

  const controls = chartView(query, () => draw());
  const draw = () => {
    const view = controls.view();
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...columns.evaluationKeys, ...columns.keys];
    const shown = all.filter((key) => words.every((word) => key.toLowerCase().includes(word)));
    for (const key of shown) {
      const chart = charts.get(key);
      if (chart) chart.update(dataOf(columns, key), view);
      else charts.set(key, new Chart({ title: key, signal }, dataOf(columns, key), view));
    }
    const figures = shown.flatMap((key) => charts.get(key)?.element ?? []);
    const isSame = figures.length === grid.children.length && figures.every((figure, i) => grid.children[i] === figure);
    if (!isSame) grid.replaceChildren(...figures);
    count.textContent = `${shown.length} of ${all.length} metrics`;
  };
  draw();
  return { element: h('div', {}, h('div', { class: 'bar' }, filter, count, controls.element), grid), onLines: draw };
}

/**
 * @param {Columns} columns
 * @param {string} key
 * @returns {import('./charts.js').ChartData}
 */
function dataOf(columns, key) {
  const { evaluations } = columns;
  if (columns.byKey.has(key)) {
    return { ...columns.places, series: [{ label: '', color: 'blue', values: columns.get(key) }] };
  }
  return {
    ...columns.evaluationPlaces,
    series: [
      { label: '', color: 'blue', measured: true, values: evaluations.map(({ metrics }) => metrics[key] ?? null) },
    ],
    whiskers: [evaluations.map(({ intervals }) => intervals[key])],
  };
}
