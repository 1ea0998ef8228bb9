// Writes docs/health.md from the table of rules.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type HealthRule, healthRules } from '../src/runs/health-rules.ts';

const introduction = `# Run health

While a run trains, and in \`gradus runs diagnose RUN\`, these rules look at its metrics. Each looks at windows of steps, never at single
points, and says nothing about what was not measured. An alert has the step at which its rule began to hold, a level, the numbers, why it
matters and what to change; it is over once the rule has not held for 10 steps. Alerts are written to \`alerts.jsonl\`, told as events, and
listed in \`result.json\`. \`runs diagnose\` leaves with 2 where an alert of level error still holds, else with 0.

That the reward *improved* means that the 95 % interval of its change, from the first window of steps to the last, lies beyond the margin:
a window is an eighth of the run, 10 to 100 steps; the margin is a tenth of the standard deviation of single rewards; the interval allows for
steps that depend on one another. The *verdict* of a run says the same of held-out accuracy between the first evaluation and the last, with a
margin of 0.05, and of the training reward where nothing was held out: \`improved\`, \`regressed\`, \`flat\` (the interval lies within the
margin) or \`inconclusive\` (neither).

A task counts as *solved* if in the last 10 steps at least half of the groups were all good and fewer than a tenth all bad.

`;

/** The text of docs/health.md. */
export function healthDocument(rules: readonly HealthRule[] = healthRules): string {
  return `${introduction}${rules.map(section).join('\n')}`;
}

function section({ id, level, condition, thresholds, why, suggestion }: HealthRule): string {
  const numbers = Object.entries(thresholds).map(([name, value]) => `\`${name}\` ${value}`);
  return [
    `## ${id}`,
    '',
    `*${level}*: ${condition}.${numbers.length > 0 ? ` (${numbers.join(', ')})` : ''}`,
    '',
    `${why} ${suggestion}`,
    '',
  ].join('\n');
}

if (import.meta.main) writeFileSync(join(import.meta.dirname, '..', 'docs', 'health.md'), healthDocument());
