// Numbers, times and values as people read them.

/** Rounding errors of numbers about 1 are smaller. */
const ROUNDING = 1e-14;

/**
 * A number in about four digits; `–` where there is none.
 * @param {unknown} value
 */
export function number(value) {
  if (typeof value !== 'number' || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  // The rounding error of terms that cancel out.
  if (size < ROUNDING) return '0';
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return minus(value.toExponential(2).replace(/\.?0*e\+?/, 'e'));
  if (Number.isInteger(value)) return minus(value.toLocaleString('en'));
  const digits = size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return minus(value.toLocaleString('en', { maximumFractionDigits: digits }));
}

/**
 * A number with its sign, also if it is positive.
 * @param {number} value
 */
export function signed(value) {
  return value >= ROUNDING ? `+${number(value)}` : number(value);
}

/**
 * `1 warning`, `3 warnings`.
 * @param {number} count
 * @param {string} noun
 */
export function counted(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** @param {string} text */
function minus(text) {
  return text.replaceAll('-', '−');
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds > 0 && seconds < 0.1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/**
 * The time of day, with the date unless it is today.
 * @param {string} iso
 */
export function moment(iso) {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const clock = time.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  if (time.toDateString() === new Date().toDateString()) return clock;
  return `${time.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })}, ${clock}`;
}

/**
 * Any value, on one line.
 * @param {unknown} value
 */
export function short(value) {
  if (value === null || value === undefined) return '–';
  return typeof value === 'string' ? value : typeof value === 'number' ? number(value) : JSON.stringify(value);
}
