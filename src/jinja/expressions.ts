// Evaluates expressions: each becomes a function of the variables.
import { getAttribute, getItem, slice } from './attributes.ts';
import { assertLength, spend, spendItems } from './budget.ts';
import { contains, equals, isOrdered } from './comparison.ts';
import { applyFilter, isFilter } from './filters.ts';
import type { Frame } from './frame.ts';
import { calculate, signed } from './operators.ts';
import type { Arguments, Expression } from './syntax.ts';
import { applyTest, isTest } from './tests.ts';
import { str } from './text.ts';
import {
  Callable,
  Dict,
  elementsOf,
  isLoop,
  isTrue,
  JinjaError,
  type Named,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from './values.ts';

export type Evaluate = (frame: Frame) => Value;

const noneNamed: Named = new Map();

export function compileExpression(expression: Expression): Evaluate {
  switch (expression.type) {
    case 'constant': {
      const { value } = expression;
      return () => value;
    }
    case 'name': {
      const { name } = expression;
      return (frame) => frame.get(name);
    }
    case 'list':
      return compileAll(expression.items);
    case 'tuple': {
      const items = compileAll(expression.items);
      return (frame) => new Tuple(items(frame));
    }
    case 'dict': {
      const items = expression.items.map((item) => item.map(compileExpression));
      return (frame) => {
        spendItems(items.length);
        return new Dict(items.map(([key, value]) => [key!(frame), value!(frame)] as const));
      };
    }
    case 'attribute': {
      const object = compileExpression(expression.object);
      const { name } = expression;
      return (frame) => {
        spend(1);
        return getAttribute(object(frame), name);
      };
    }
    case 'item': {
      const object = compileExpression(expression.object);
      const key = compileExpression(expression.key);
      return (frame) => {
        spend(1);
        return getItem(object(frame), key(frame));
      };
    }
    case 'slice': {
      const object = compileExpression(expression.object);
      const bounds = [0, 1, 2].map((i) => compileOptional(expression.bounds[i] ?? null, null));
      return (frame) =>
        slice(
          object(frame),
          bounds.map((bound) => bound(frame)),
        );
    }
    case 'call':
      return compileCall(expression);
    case 'filter': {
      if (!expression.value) throw new JinjaError('a filter without a value');
      return compileFilter(compileExpression(expression.value), expression.name, expression.given);
    }
    case 'test':
      return compileTest(compileExpression(expression.value), expression.name, expression.given);
    case 'not': {
      const value = compileExpression(expression.value);
      return (frame) => !isTrue(value(frame));
    }
    case 'negative':
    case 'positive': {
      const value = compileExpression(expression.value);
      const sign = expression.type === 'negative' ? '-' : '+';
      return (frame) => signed(sign, value(frame));
    }
    case 'and':
    case 'or': {
      const [left, right] = [compileExpression(expression.left), compileExpression(expression.right)];
      const goesOn = expression.type === 'and';
      return (frame) => {
        const value = left(frame);
        return isTrue(value) === goesOn ? right(frame) : value;
      };
    }
    case 'binary': {
      const [left, right] = [compileExpression(expression.left), compileExpression(expression.right)];
      const { operator } = expression;
      return (frame) => {
        spend(1);
        return calculate(operator, left(frame), right(frame));
      };
    }
    case 'concat': {
      const items = expression.items.map(compileExpression);
      return (frame) => {
        spend(items.length);
        let text = '';
        for (const item of items) {
          text += str(item(frame));
          assertLength(text.length);
        }
        return text;
      };
    }
    case 'compare':
      return compileComparison(expression);
    case 'condition': {
      const [test, then] = [compileExpression(expression.test), compileExpression(expression.then)];
      const missing = new Undefined('the inline if-expression evaluated to false and no else section was defined.');
      const otherwise = compileOptional(expression.otherwise, missing);
      return (frame) => (isTrue(test(frame)) ? then(frame) : otherwise(frame));
    }
  }
}

function compileOptional(expression: Expression | null, otherwise: Value): Evaluate {
  return expression ? compileExpression(expression) : () => otherwise;
}

function compileAll(expressions: readonly Expression[]): (frame: Frame) => Value[] {
  const items = expressions.map(compileExpression);
  return (frame) => {
    spendItems(items.length);
    return items.map((item) => item(frame));
  };
}

/** Compiles the arguments of a call. */
export function compileArguments({ positional, named, list, dict }: Arguments): (frame: Frame) => [Value[], Named] {
  const items = compileAll(positional);
  const fields = named.map(([name, value]) => [name, compileExpression(value)] as const);
  const [more, moreNamed] = [list && compileExpression(list), dict && compileExpression(dict)];
  return (frame) => {
    const given = items(frame);
    if (fields.length === 0 && !more && !moreNamed) return [given, noneNamed];
    const all = new Map(fields.map(([name, value]) => [name, value(frame)]));
    if (more) given.push(...elementsOf(more(frame)));
    if (moreNamed) {
      const dict = moreNamed(frame);
      if (!(dict instanceof Dict)) throw new JinjaError('argument after ** must be a mapping');
      spendItems(dict.size);
      for (const [key, value] of dict.entries()) {
        if (typeof key !== 'string') throw new JinjaError('keywords must be strings');
        if (all.has(key)) throw new JinjaError(`got multiple values for keyword argument '${key}'`);
        all.set(key, value);
      }
    }
    return [given, all];
  };
}

function compileCall({ callee, given }: Extract<Expression, { type: 'call' }>): Evaluate {
  const called = compileExpression(callee);
  const evaluated = compileArguments(given);
  return (frame) => {
    spend(1);
    const value = called(frame);
    return callValue(value, ...evaluated(frame));
  };
}

export function callValue(value: Value, given: readonly Value[], named: Named): Value {
  if (value instanceof Callable || (value !== null && isLoop(value))) return value.call(given, named);
  if (value instanceof Undefined) value.fail();
  throw new JinjaError(`'${typeName(value)}' object is not callable`);
}

/** Compiles a filter applied to `value`. */
export function compileFilter(value: Evaluate, name: string, given: Arguments): Evaluate {
  const evaluated = compileArguments(given);
  return (frame) => {
    spend(1);
    const filtered = value(frame);
    return applyFilter(name, filtered, ...evaluated(frame));
  };
}

function compileTest(value: Evaluate, name: string, given: Arguments): Evaluate {
  const evaluated = compileArguments(given);
  const isKnown = name === 'filter' ? isFilter : name === 'test' ? isTest : undefined;
  return (frame) => {
    spend(1);
    const tested = value(frame);
    return isKnown ? isKnown(str(tested)) : applyTest(name, tested, ...evaluated(frame));
  };
}

function compileComparison({ first, rest }: Extract<Expression, { type: 'compare' }>): Evaluate {
  const begin = compileExpression(first);
  const others = rest.map(([operator, value]) => [comparison(operator), compileExpression(value)] as const);
  return (frame) => {
    spend(others.length);
    let left = begin(frame);
    for (const [holds, value] of others) {
      const right = value(frame);
      if (!holds(left, right)) return false;
      left = right;
    }
    return true;
  };
}

function comparison(operator: string): (left: Value, right: Value) => boolean {
  switch (operator) {
    case '==':
      return equals;
    case '!=':
      return (left, right) => !equals(left, right);
    case 'in':
      return (left, right) => contains(right, left);
    case 'not in':
      return (left, right) => !contains(right, left);
    default:
      return (left, right) => isOrdered(operator, left, right);
  }
}
