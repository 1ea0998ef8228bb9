// How all views show curves: the unit of the lower axis, and how much curves are smoothed.
import { h } from './dom.js';
import { choice } from './parts.js';
import { setQuery } from './route.js';

/**
 * @typedef {object} ChartView
 * @property {'steps' | 'tokens' | 'time'} over what the lower axis shows: tokens are the metric num_tokens, without which steps are shown; the
 *   time is that of training steps alone, without evaluations
 * @property {number} smoothing the weight of what came before in a running mean: 0 smooths nothing
 */

/** @type {readonly { value: ChartView['over'], label: string }[]} */
const overs = [
  { value: 'steps', label: 'steps' },
  { value: 'tokens', label: 'tokens' },
  { value: 'time', label: 'time' },
];
const smoothings = [
  { value: '0', label: 'none' },
  { value: '0.6', label: 'a little (0.6)' },
  { value: '0.9', label: 'more (0.9)' },
  { value: '0.97', label: 'a lot (0.97)' },
];

/** The reader's last choices, which all views share. */
const chosen = { over: 'steps', smooth: '0' };

/**
 * @param {URLSearchParams} query
 * @param {() => void} onChange
 * @returns {{ element: HTMLElement, view: () => ChartView }}
 */
export function chartView(query, onChange) {
  Object.assign(chosen, {
    over: known(overs, query.get('over')) ?? chosen.over,
    smooth: known(smoothings, query.get('smooth')) ?? chosen.smooth,
  });
  /** @param {Partial<typeof chosen>} change */
  const choose = (change) => {
    Object.assign(chosen, change);
    setQuery({
      over: chosen.over === 'steps' ? undefined : chosen.over,
      smooth: chosen.smooth === '0' ? undefined : chosen.smooth,
    });
    onChange();
  };
  return {
    element: h(
      'span',
      { class: 'pills' },
      choice('over', overs, chosen.over, (over) => choose({ over })),
      choice('smoothing', smoothings, chosen.smooth, (smooth) => choose({ smooth })),
    ),
    view: () => ({ over: known(overs, chosen.over) ?? 'steps', smoothing: Number(chosen.smooth) }),
  };
}

/**
 * @template {string} T
 * @param {readonly { value: T }[]} options
 * @param {string | null} value
 */
function known(options, value) {
  return options.find((option) => option.value === value)?.value;
}
