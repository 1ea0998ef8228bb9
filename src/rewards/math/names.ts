// Tells what is named by an answer, the `x =` of `x = 3`, from what is stated of it.
import type { MathNode, Relation } from './syntax.ts';

export type Equation = Relation & { readonly signs: readonly '='[] };

export function isEquation(node: MathNode): node is Equation {
  return node.kind === 'relation' && node.signs.every((sign) => sign === '=');
}

/** An equation whose left side is a name, such as `x`, `f(x)`, `(p,q)`, `|AB|` or `V_1:V_2`, or a chain, whose last side counts. */
export function isAssignment(node: MathNode): node is Equation {
  return isEquation(node) && (isName(node.sides[0]!) || (node.sides.length > 2 && isNumeral(node.sides.at(-1)!)));
}

export function isName(node: MathNode): boolean {
  switch (node.kind) {
    case 'symbol':
      return node.name !== 'infinity';
    case 'call':
      return true;
    case 'tuple':
      return node.items.length > 0 && node.items.every(isName);
    case 'operation':
      if (node.name === 'multiply') return isName(node.operands[0]!) && node.operands.slice(1).every(isNameOrWhole);
      return (node.name === 'divide' || node.name === 'abs') && node.operands.every(isName);
    default:
      return false;
  }
}

/** The whole number of W(2) is an argument; multiplied from the left, as in 2x, it is a factor. */
function isNameOrWhole(node: MathNode): boolean {
  return isName(node) || (node.kind === 'number' && !node.isDecimal);
}

function isNumeral(node: MathNode): boolean {
  if (node.kind === 'number') return true;
  return node.kind === 'operation' && node.operands.every(isNumeral);
}
