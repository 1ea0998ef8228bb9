// The public types are those of docs/api, and no object of them mixes the two ways in which keys are written.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { apiReports } from '../scripts/api-report.ts';

const folder = join(import.meta.dirname, '..', 'docs', 'api');

test('docs/api has the types of every entry', () => {
  const reports = apiReports();
  assert.ok(reports.size >= 8);
  assert.deepEqual(readdirSync(folder).sort(), [...reports.keys()]);
  for (const [name, text] of reports) {
    assert.equal(
      readFileSync(join(folder, name), 'utf8'),
      text,
      `${name}: if this change of the public types is meant, run node scripts/api-report.ts`,
    );
  }
});

interface Keys {
  /** Where the object is declared. */
  readonly name: string;
  readonly keys: Set<string>;
  /** What an interface extends. */
  readonly bases: readonly string[];
}

/** The keys of every object type in a report: of interfaces, and of the objects within them. */
function objectsIn(report: string): Keys[] {
  const found: Keys[] = [];
  const open: Keys[] = [];
  let name = '';
  let bases: string[] = [];
  for (const line of report.split('\n')) {
    const declared = /^(?:export )?(?:const|interface|type|class|function) (\w+)/.exec(line);
    if (declared) name = declared[1]!;
    bases = Array.from(
      /^(?:export )?interface .* extends (.*) \{$/.exec(line)?.[1]?.matchAll(/\w+/g) ?? [],
      ([base]) => base,
    );
    const key = /^\s+(?:readonly )?(\w+)\??[:(<]/.exec(line)?.[1];
    if (key !== undefined) open.at(-1)?.keys.add(key);
    for (const sign of line) {
      if (sign === '{') {
        open.push({ name, keys: new Set(), bases });
        bases = [];
      } else if (sign === '}') found.push(open.pop()!);
    }
  }
  return found;
}

function mixes(keys: ReadonlySet<string>): boolean {
  const all = [...keys];
  return all.some((key) => /[a-z]_[a-z]/.test(key)) && all.some((key) => /[a-z][A-Z]/.test(key));
}

test('an object has the keys of configurations and records, or those of TypeScript', () => {
  assert.ok(
    objectsIn('interface A {\n    readonly loss_type: string;\n    learningRate(): void;\n}').some(({ keys }) =>
      mixes(keys),
    ),
  );
  let checked = 0;
  for (const file of readdirSync(folder)) {
    const objects = objectsIn(readFileSync(join(folder, file), 'utf8'));
    const ownKeys = Map.groupBy(objects, ({ name }) => name);
    for (const { name, keys, bases } of objects) {
      const inherited = bases.flatMap((base) => ownKeys.get(base)?.flatMap((object) => [...object.keys]) ?? []);
      assert.ok(!mixes(new Set([...keys, ...inherited])), `${file}: ${name} has ${[...keys]}`);
      checked++;
    }
  }
  assert.ok(checked > 200);
});
