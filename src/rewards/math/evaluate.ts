// Evaluates expressions: exactly, if the value is a fraction, or in complex doubles for given values of the variables.
import { type Complex, divide, multiply, notANumber, real } from './complex.ts';
import { operationNamed, trigonometric } from './operations.ts';
import { type Rational, toNumber } from './rational.ts';
import type { MathNode } from './syntax.ts';

const constants: Readonly<Record<string, Complex>> = {
  pi: real(Math.PI),
  e: real(Math.E),
  i: { re: 0, im: 1 },
  infinity: real(Number.POSITIVE_INFINITY),
};

/** The value as a fraction; `undefined` if there are variables or the value is not a fraction. */
export function exactValue(node: MathNode): Rational | undefined {
  if (node.kind === 'number') return node.value;
  if (node.kind !== 'operation') return undefined;
  const { exact } = operationNamed(node.name);
  if (!exact) return undefined;
  const operands: Rational[] = [];
  for (const operand of node.operands) {
    const value = exactValue(operand);
    if (value === undefined) return undefined;
    operands.push(value);
  }
  return exact(...operands);
}

/** The value at a point, that is, for given values of the variables; NaN if there is none, as for text. */
export function valueAt(node: MathNode, point: Readonly<Record<string, number>>): Complex {
  const exact = exactValue(node);
  if (exact) return real(toNumber(exact));
  if (node.kind === 'symbol') {
    const value = point[node.name];
    return value === undefined ? (constants[node.name] ?? notANumber) : real(value);
  }
  if (node.kind !== 'operation') return notANumber;
  const operands = node.operands.map((operand) => {
    const value = valueAt(operand, point);
    return trigonometric.has(node.name) && isDegrees(operand) ? inRadians(value) : value;
  });
  return operationNamed(node.name).value(...operands);
}

function isDegrees(node: MathNode): boolean {
  return node.kind === 'operation' && node.name === 'degrees';
}

function inRadians(degrees: Complex): Complex {
  return divide(multiply(degrees, real(Math.PI)), real(180));
}

/** The names of the variables, in order of first appearance. */
export function variablesOf(node: MathNode): string[] {
  const names = new Set<string>();
  visit(node, (part) => {
    if (part.kind === 'symbol' && !(part.name in constants)) names.add(part.name);
  });
  return [...names];
}

function visit(node: MathNode, see: (node: MathNode) => void): void {
  see(node);
  for (const part of partsOf(node)) visit(part, see);
}

function partsOf(node: MathNode): readonly MathNode[] {
  switch (node.kind) {
    case 'operation':
      return node.operands;
    case 'set':
    case 'list':
    case 'tuple':
    case 'matrix':
      return node.items;
    case 'interval':
      return [node.start, node.end];
    case 'union':
      return node.parts;
    case 'relation':
      return node.sides;
    default:
      return [];
  }
}
