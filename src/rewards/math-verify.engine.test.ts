// math_verify against the Python package math-verify 0.9: 2,080 pairs in sixteen kinds, and the committed report of where they differ.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type MathPair, mathVerifyPairs } from '../../test/math-verify-pairs.ts';
import { mathVerify } from './math-verify.ts';

const root = join(import.meta.dirname, '..', '..');
const reportPath = join(root, 'docs/math-verify.md');
const beginning = '<!-- measured: npm run test:engines with GRADUS_WRITE_REPORT=1 -->\n';

async function ours(pairs: readonly MathPair[]): Promise<boolean[]> {
  const scores = await mathVerify()({
    prompts: [],
    completions: pairs.map(({ completion }) => completion),
    completionIds: [],
    columns: { answer: pairs.map(({ gold }) => gold) },
    log: () => {},
  });
  return scores.map((score) => score === 1);
}

function theirs(pairs: readonly MathPair[]): boolean[] {
  const python = join(root, 'python/.venv/bin/python');
  const input = JSON.stringify(pairs);
  return JSON.parse(
    execFileSync(python, [join(root, 'python/oracles/math_verify_pairs.py')], { input, encoding: 'utf8' }),
  );
}

function reportOf(pairs: readonly MathPair[], our: readonly boolean[], their: readonly boolean[]): string {
  const kinds = [...new Set(pairs.map(({ kind }) => kind))];
  const rows = kinds.map((kind) => {
    const members = pairs.flatMap((pair, i) => (pair.kind === kind ? [i] : []));
    const right = members.filter((i) => their[i]).length;
    const agreed = members.filter((i) => our[i] === their[i]).length;
    return `| ${kind} | ${members.length} | ${right} | ${((100 * agreed) / members.length).toFixed(1)} % |`;
  });
  const differences = pairs.flatMap(({ gold, completion }, i) =>
    our[i] === their[i]
      ? []
      : [`- \`${gold}\` and \`${completion.replaceAll('\n', '⏎')}\`: math-verify ${their[i]}, ours ${our[i]}`],
  );
  return [
    '| kind | pairs | right by math-verify | agreement |',
    '|---|---|---|---|',
    ...rows,
    '',
    `Every difference among these pairs (${differences.length}):`,
    '',
    ...differences,
    '',
  ].join('\n');
}

test('math_verify agrees with math-verify on at least 95 % of each kind, and the report says so', async () => {
  const pairs = mathVerifyPairs(130);
  const [our, their] = [await ours(pairs), theirs(pairs)];
  assert.equal(their.length, 2080);
  for (const kind of new Set(pairs.map((pair) => pair.kind))) {
    const members = pairs.flatMap((pair, i) => (pair.kind === kind ? [i] : []));
    const share = (accepts: (i: number) => boolean) => members.filter(accepts).length / members.length;
    assert.ok(share((i) => our[i] === their[i]) >= 0.95, `${kind}: ${share((i) => our[i] === their[i])}`);
    // A kind whose answers are all right, or all wrong, would show nothing.
    assert.ok(
      share((i) => their[i]!) > 0.2 && share((i) => their[i]!) < 0.85,
      `${kind}: ${share((i) => their[i]!)} right`,
    );
  }
  const [written] = readFileSync(reportPath, 'utf8').split(beginning);
  const report = `${written}${beginning}\n${reportOf(pairs, our, their)}`;
  if (process.env.GRADUS_WRITE_REPORT) writeFileSync(reportPath, report);
  assert.equal(readFileSync(reportPath, 'utf8'), report, 'docs/math-verify.md is not current');
});
