// Compares two parsed answers: numbers by value, expressions at random points, sets, intervals and equations part by part.
import { randomStream } from '../../common/random.ts';
import { type Complex, hasValue, modulus, subtract } from './complex.ts';
import { exactValue, valueAt, variablesOf } from './evaluate.ts';
import { isEqual, roundTo, toNumber } from './rational.ts';
import {
  type Interval,
  infinity,
  type MathNode,
  minusInfinity,
  operation,
  type Relation,
  type RelationSign,
} from './syntax.ts';

/**
 * - `strict`: names of variables matter, ordered and unordered answers differ, as do `12.5\%` and 12.5, and an interval and an inequality;
 * - `lenient`: variables are matched in order of appearance, sets equal tuples and inequalities equal intervals.
 */
export type EquivalenceMode = 'strict' | 'lenient';

// Decimals are assumed to be rounded to this many places, as in math-verify.
const DECIMAL_PLACES = 6;
const SAMPLED_POINTS = 8;
const LEAST_COMPARED_POINTS = 3;
const RELATIVE_TOLERANCE = 1e-9;
const ABSOLUTE_TOLERANCE = 1e-12;

/**
 * Whether `answer` means the same as `gold`. Not symmetric: `x = 3` and 3 match either way, but the answer 3 does not match the gold `2x = 6`.
 * Expressions are compared at eight points drawn from a fixed seed. Different expressions agree at all of them only if constructed to do so.
 */
export function isEquivalent(gold: MathNode, answer: MathNode, mode: EquivalenceMode): boolean {
  return new Comparison(mode).areSame(gold, mode === 'lenient' ? renamed(answer, variablesOf(gold)) : answer);
}

type Equation = Relation & { readonly signs: readonly '='[] };

class Comparison {
  readonly #mode: EquivalenceMode;

  constructor(mode: EquivalenceMode) {
    this.#mode = mode;
  }

  areSame(goldGiven: MathNode, answerGiven: MathNode): boolean {
    const [gold, answer] = this.#withoutNames(goldGiven, answerGiven);
    if (gold.kind === 'word' || answer.kind === 'word') return textOf(gold) !== '' && textOf(gold) === textOf(answer);
    if (gold.kind === 'relation' && answer.kind === 'relation') return this.#areSameRelations(gold, answer);
    if (gold.kind === 'relation') return this.#areSameRegions(intervalOf(gold), answer);
    if (answer.kind === 'relation') return this.#mode === 'lenient' && this.#areSameRegions(intervalOf(answer), gold);
    if (gold.kind === 'matrix' || answer.kind === 'matrix') {
      return gold.kind === answer.kind && this.#areSameInOrder(itemsOf(gold), itemsOf(answer));
    }
    if (gold.kind === 'interval' || answer.kind === 'interval') return this.#areSameRegions(gold, answer);
    if (gold.kind === 'union' || answer.kind === 'union') return this.#areSameUnions(gold, answer);
    if (isCollection(gold) || isCollection(answer)) return this.#areSameCollections(gold, answer);
    return this.#areSameExpressions(gold, answer);
  }

  /** Drops the `x =` of `x = 3` if only one of the two answers has it. */
  #withoutNames(gold: MathNode, answer: MathNode): readonly [MathNode, MathNode] {
    const isAnswerEquation = isEquation(answer);
    if (isAnswerEquation && !isEquation(gold)) return [gold, answer.sides.at(-1)!];
    if (!isAnswerEquation && isAssignment(gold)) return [gold.sides.at(-1)!, answer];
    return [gold, answer];
  }

  #areSameExpressions(gold: MathNode, answer: MathNode): boolean {
    if (isPlainNumber(gold) || isPlainNumber(answer)) {
      const same = this.#areSameNumbers(gold, answer);
      if (same !== undefined) return same;
    }
    const [goldValue, answerValue] = [exactValue(gold), exactValue(answer)];
    if (goldValue && answerValue) return isEqual(goldValue, answerValue);
    if (isInfinite(gold) || isInfinite(answer)) return structureOf(gold) === structureOf(answer);
    return structureOf(gold) === structureOf(answer) || haveSameValues(gold, answer);
  }

  /** Compares with a number as written: decimals to six places, and 9% as both 0.09 and 9. */
  #areSameNumbers(gold: MathNode, answer: MathNode): boolean | undefined {
    const [goldValue, answerValue] = [exactValue(gold), exactValue(answer)];
    const [goldBare, answerBare] = [withoutPercent(gold), withoutPercent(answer)];
    if (isPercent(gold) !== isPercent(answer) && isPlainNumber(gold) && isPlainNumber(answer)) {
      const [goldCount, answerCount] = [exactValue(goldBare)!, exactValue(answerBare)!];
      const areWhole = !isDecimal(goldBare) && !isDecimal(answerBare);
      if ((areWhole || this.#mode === 'lenient') && isEqual(goldCount, answerCount)) return true;
    }
    if (!isDecimal(goldBare) && !isDecimal(answerBare)) return undefined;
    if (goldValue && answerValue) return roundTo(goldValue, DECIMAL_PLACES) === roundTo(answerValue, DECIMAL_PLACES);
    // One of the two numbers is irrational, so it cannot lie exactly halfway between two rounded values.
    const written = goldValue ?? answerValue;
    const other = valueAt(goldValue ? answer : gold, {});
    if (!written || other.im !== 0 || !Number.isFinite(other.re)) return false;
    const scale = 10 ** DECIMAL_PLACES;
    return Math.round(toNumber(written) * scale) === Math.round(other.re * scale);
  }

  #areSameRelations(gold: Relation, answer: Relation): boolean {
    if (isAssignment(gold) && isEquation(answer)) {
      const assigned = isAssignment(answer) ? answer : reversed(answer);
      if (isAssignment(assigned) && this.#areSameAssignments(gold, assigned)) return true;
      // 2x = 6 does not count as x = 3, for it has yet to be solved; but y = 1 − x and x + y = 1 are equal.
      if (variablesOf(gold.sides.at(-1)!).length === 0) return false;
    }
    if (gold.sides.length !== answer.sides.length) return false;
    return this.#arePairwiseSame(gold, answer) || this.#arePairwiseSame(gold, reversed(answer));
  }

  /** Equal names and equal values; `x = 1 + 2 = 3` has the value after the last sign. */
  #areSameAssignments(gold: Relation, answer: Relation): boolean {
    const isSameName = haveSameValues(gold.sides[0]!, answer.sides[0]!);
    return isSameName && this.areSame(gold.sides.at(-1)!, answer.sides.at(-1)!);
  }

  /** Compares chains of inequalities: each difference b − a of `a < b` must equal its counterpart up to a positive factor. */
  #arePairwiseSame(gold: Relation, answer: Relation): boolean {
    return gold.signs.every((sign, i) => {
      const [goldDifference, answerDifference] = [difference(gold, i), difference(answer, i)];
      const factor = ratio(goldDifference, answerDifference);
      if (factor === undefined || sign !== answer.signs[i]) return false;
      return sign === '=' || sign === '!='
        ? true
        : factor > 0 && (this.#mode === 'lenient' || Math.abs(factor - 1) < 1e-9);
    });
  }

  #areSameRegions(goldRegion: MathNode | undefined, answerRegion: MathNode): boolean {
    const [gold, answer] = [goldRegion && asInterval(goldRegion), asInterval(answerRegion)];
    if (gold?.kind !== 'interval' || answer.kind !== 'interval') return false;
    return (
      (gold.isStartOpen === answer.isStartOpen || isInfinite(gold.start)) &&
      (gold.isEndOpen === answer.isEndOpen || isInfinite(gold.end)) &&
      this.areSame(gold.start, answer.start) &&
      this.areSame(gold.end, answer.end)
    );
  }

  #areSameUnions(gold: MathNode, answer: MathNode): boolean {
    if (gold.kind !== 'union' || answer.kind !== 'union') return false;
    return this.#areSameInAnyOrder(gold.parts.map(asInterval), answer.parts.map(asInterval));
  }

  #areSameCollections(gold: MathNode, answer: MathNode): boolean {
    const [goldItems, answerItems] = [this.#distinctItems(gold), this.#distinctItems(answer)];
    const isOrdered = this.#mode === 'strict' && gold.kind === 'tuple';
    return isOrdered ? this.#areSameInOrder(goldItems, answerItems) : this.#areSameInAnyOrder(goldItems, answerItems);
  }

  /** The items, without duplicates unless their order matters. A node that is not a collection is its own only item. */
  #distinctItems(node: MathNode): readonly MathNode[] {
    const items = itemsOf(node);
    if (node.kind === 'tuple') return items;
    return items.filter((item, i) => !items.slice(0, i).some((earlier) => this.areSame(earlier, item)));
  }

  #areSameInOrder(gold: readonly MathNode[], answer: readonly MathNode[]): boolean {
    return gold.length === answer.length && gold.every((item, i) => this.areSame(item, answer[i]!));
  }

  #areSameInAnyOrder(gold: readonly MathNode[], answer: readonly MathNode[]): boolean {
    if (gold.length !== answer.length) return false;
    const left = [...answer];
    return gold.every((item) => {
      const at = left.findIndex((candidate) => this.areSame(item, candidate));
      if (at >= 0) left.splice(at, 1);
      return at >= 0;
    });
  }
}

/** Whether two expressions have equal values wherever both have a value. */
function haveSameValues(gold: MathNode, answer: MathNode): boolean {
  let compared = 0;
  for (const [goldValue, answerValue] of valuesAtPoints(gold, answer)) {
    if (!hasValue(goldValue) || !hasValue(answerValue)) continue;
    if (!areClose(goldValue, answerValue)) return false;
    compared++;
  }
  return compared >= LEAST_COMPARED_POINTS;
}

/** The factor between two expressions, if it is the same real number, not 0, at every point. */
function ratio(gold: MathNode, answer: MathNode): number | undefined {
  let factor: number | undefined;
  let compared = 0;
  for (const [goldValue, answerValue] of valuesAtPoints(gold, answer)) {
    if (!hasValue(goldValue) || !hasValue(answerValue)) continue;
    if (goldValue.re === 0 || answerValue.re === 0 || goldValue.im !== 0 || answerValue.im !== 0) return undefined;
    factor ??= goldValue.re / answerValue.re;
    if (Math.abs(goldValue.re / answerValue.re - factor) > RELATIVE_TOLERANCE * Math.abs(factor)) return undefined;
    compared++;
  }
  return compared >= LEAST_COMPARED_POINTS ? factor : undefined;
}

/** The values of both at points that are the same in every call: half of them near 1, all within ±4. */
function* valuesAtPoints(gold: MathNode, answer: MathNode): Generator<readonly [Complex, Complex]> {
  const names = [...new Set([...variablesOf(gold), ...variablesOf(answer)])].sort();
  const random = randomStream(1);
  for (let i = 0; i < SAMPLED_POINTS; i++) {
    const point = Object.fromEntries(
      names.map((name) => [name, i % 2 === 0 ? 0.5 + random.uniform() : 8 * random.uniform() - 4]),
    );
    yield [valueAt(gold, point), valueAt(answer, point)];
  }
}

function areClose(a: Complex, b: Complex): boolean {
  return modulus(subtract(a, b)) <= RELATIVE_TOLERANCE * Math.max(modulus(a), modulus(b)) + ABSOLUTE_TOLERANCE;
}

function isEquation(node: MathNode): node is Equation {
  return node.kind === 'relation' && node.signs.every((sign) => sign === '=');
}

/** An equation whose left side is a name, such as `x` or `f(x)`. */
function isAssignment(node: MathNode): node is Equation {
  return isEquation(node) && isName(node.sides[0]!);
}

function isName(node: MathNode): boolean {
  if (node.kind === 'symbol') return true;
  return node.kind === 'operation' && node.name === 'multiply' && node.operands.every(isName);
}

/** A number as written, its sign and percent sign included. */
function isPlainNumber(node: MathNode): boolean {
  if (node.kind === 'number') return true;
  return (
    node.kind === 'operation' && (node.name === 'negate' || node.name === 'percent') && isPlainNumber(node.operands[0]!)
  );
}

function isDecimal(node: MathNode): boolean {
  if (node.kind === 'number') return node.isDecimal;
  return isPlainNumber(node) && node.kind === 'operation' && isDecimal(node.operands[0]!);
}

function isPercent(node: MathNode): boolean {
  if (node.kind !== 'operation') return false;
  return node.name === 'percent' || (node.name === 'negate' && isPercent(node.operands[0]!));
}

function withoutPercent(node: MathNode): MathNode {
  if (node.kind !== 'operation') return node;
  if (node.name === 'percent') return node.operands[0]!;
  return node.name === 'negate' ? operation('negate', withoutPercent(node.operands[0]!)) : node;
}

function isInfinite(node: MathNode): boolean {
  if (node.kind === 'symbol') return node.name === 'infinity';
  return node.kind === 'operation' && node.name === 'negate' && isInfinite(node.operands[0]!);
}

function isCollection(node: MathNode): boolean {
  return node.kind === 'set' || node.kind === 'list' || node.kind === 'tuple';
}

function itemsOf(node: MathNode): readonly MathNode[] {
  if (node.kind === 'matrix') return node.items;
  if (node.kind !== 'set' && node.kind !== 'list' && node.kind !== 'tuple') return [node];
  // The two values of an item with ± are items of the list.
  return node.items.flatMap((item) => (item.kind === 'set' && node.kind !== 'tuple' ? item.items : [item]));
}

/** A pair in parentheses, read as an open interval. */
function asInterval(node: MathNode): MathNode {
  if (node.kind !== 'tuple' || node.items.length !== 2) return node;
  return { kind: 'interval', start: node.items[0]!, end: node.items[1]!, isStartOpen: true, isEndOpen: true };
}

/** The interval to which `x < 3` or `1 <= x < 2` restricts the variable. */
function intervalOf(relation: Relation): Interval | undefined {
  const { sides, signs } = relation;
  if (signs.includes('=') || signs.includes('!=')) return undefined;
  if (signs[0]!.startsWith('>')) return intervalOf(reversed(relation));
  const at = sides.findIndex(isName);
  if (at < 0 || sides.length > 3 || (sides.length === 3 && at !== 1)) return undefined;
  return {
    kind: 'interval',
    start: sides[at - 1] ?? minusInfinity,
    end: sides[at + 1] ?? infinity,
    isStartOpen: signs[at - 1] !== '<=',
    isEndOpen: signs[at] !== '<=',
  };
}

/** Turns `x < 3` into `3 > x`. */
function reversed({ sides, signs }: Relation): Relation {
  return { kind: 'relation', sides: sides.toReversed(), signs: signs.map(flip).toReversed() };
}

function flip(sign: RelationSign): RelationSign {
  const flipped: Partial<Record<RelationSign, RelationSign>> = { '<': '>', '>': '<', '<=': '>=', '>=': '<=' };
  return flipped[sign] ?? sign;
}

/** The right side of the i-th sign minus its left side. */
function difference({ sides }: Relation, i: number): MathNode {
  return operation('add', sides[i + 1]!, operation('negate', sides[i]!));
}

/** The letters alone, so that `Tuesday.` equals `tuesday` and the product y·e·s equals `yes`; for unparsed formulas, all but white space. */
function textOf(node: MathNode): string {
  if (node.kind === 'word') {
    const isFormula = /[\\+=<>^|/]|-\d/.test(node.text);
    return isFormula ? node.text.replace(/\s/g, '') : node.text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  }
  if (node.kind === 'symbol') return node.name.toLowerCase();
  return node.kind === 'operation' && node.name === 'multiply' ? node.operands.map(textOf).join('') : '';
}

function structureOf(node: MathNode): string {
  return JSON.stringify(node, (_, value) => (typeof value === 'bigint' ? value.toString() : value));
}

/** The tree with its variables renamed to `names`, in order; unchanged if there are not equally many. */
function renamed(node: MathNode, names: readonly string[]): MathNode {
  const own = variablesOf(node);
  if (own.length !== names.length) return node;
  const nameOf = new Map(own.map((name, i) => [name, names[i]!]));
  const rename = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(rename);
    if (typeof part !== 'object' || part === null) return part;
    const copy = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, rename(value)]));
    return copy.kind === 'symbol' ? { ...copy, name: nameOf.get(copy.name as string) ?? copy.name } : copy;
  };
  return rename(node) as MathNode;
}
