// Learning curves as SVG: measured held-out accuracy, and the smoothed accuracy of training batches.
import type { EvaluationRecord, MetricsRecord } from '../../src/index.ts';

export interface Curve {
  readonly isControl: boolean;
  readonly metrics: readonly MetricsRecord[];
  readonly evaluations: readonly EvaluationRecord[];
}

const [width, height] = [640, 320];
const [left, right, top, bottom] = [44, 12, 34, 34];

/** The number of steps that a point of a training curve averages. */
const smoothing = 10;

/** @param reward whose mean is the accuracy of a batch */
export function curves(title: string, reward: string, runs: readonly Curve[]): string {
  const steps = Math.max(...runs.flatMap(({ metrics }) => metrics.map(({ step }) => step)));
  const x = (step: number) => left + ((width - left - right) * step) / steps;
  const y = (value: number) => height - bottom - (height - top - bottom) * value;
  const path = (points: readonly (readonly [number, number])[]) =>
    points.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  const color = ({ isControl }: Curve) => (isControl ? '#999' : '#0a7f4f');
  const grid = [0, 0.25, 0.5, 0.75, 1].map(
    (value) =>
      `<line x1="${left}" x2="${width - right}" y1="${y(value)}" y2="${y(value)}" stroke="#ddd"/>` +
      `<text x="${left - 6}" y="${y(value) + 4}" text-anchor="end">${value}</text>`,
  );
  const lines = runs.flatMap((run) => [
    `<polyline points="${path(smoothed(run.metrics, reward))}" fill="none" stroke="${color(run)}" opacity="0.35"/>`,
    `<polyline points="${path(heldOut(run))}" fill="none" stroke="${color(run)}" stroke-width="1.5"/>`,
    ...heldOut(run).map(([step, value]) => `<circle cx="${x(step)}" cy="${y(value)}" r="2.5" fill="${color(run)}"/>`),
  ]);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${left}" y="16" font-size="13">${title}</text>`,
    `<text x="${left}" y="29" fill="#0a7f4f">● held out, and training batches (faint): one line a seed</text>`,
    `<text x="${left + 310}" y="29" fill="#777">● random reward</text>`,
    ...grid,
    `<text x="${left}" y="${height - 10}">0</text>`,
    `<text x="${width - right}" y="${height - 10}" text-anchor="end">step ${steps}</text>`,
    ...lines,
    '</svg>\n',
  ].join('\n');
}

function heldOut({ evaluations }: Curve): [number, number][] {
  return evaluations.map(({ step, metrics }) => [step, metrics['eval/sampled_accuracy']!]);
}

function smoothed(metrics: readonly MetricsRecord[], reward: string): [number, number][] {
  const values = metrics.map((record) => record[`rewards/${reward}/mean`] as number);
  return metrics.slice(smoothing - 1).map(({ step }, i) => {
    const window = values.slice(i, i + smoothing);
    return [step - (smoothing - 1) / 2, window.reduce((sum, value) => sum + value, 0) / smoothing];
  });
}
