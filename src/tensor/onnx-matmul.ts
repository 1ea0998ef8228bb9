// Lowers matrix products to ONNX Runtime's operators, or to our own, which is faster for large ones.
import type { Tensor, TensorOf } from './graph.ts';
import { type Emitter, GRADUS } from './onnx-emitter.ts';

/**
 * Use of our operator SplitGemm (kernels/split-gemm.h), with a relative error of about 4e-6, for products of large matrices:
 * - `none`: for all, of which it packs the right operand anew in each run. Best for many rows.
 * - `whole`: for those whose right operand is an initializer, which is packed when the session is created. Best for few rows.
 * - `high`: the same, but with the right operand rounded to bfloat16.
 * - `int8`: the same, but with the right operand rounded to 8 bits, where 64 numbers share a scale.
 */
export type Packing = 'none' | 'whole' | 'high' | 'int8';

/** The operator's numbers for them. */
const PACKING = { none: 0, whole: 1, high: 2, int8: 3 };

/** Matrices are large if none of their sizes is smaller. Sizes that have names, such as the number of rows, are not known. */
const LARGE = 128;

export function lowerMatmul(node: TensorOf<'matmul'>, operands: readonly string[], emit: Emitter): string {
  const [a, b] = node.inputs as readonly [Tensor, Tensor];
  const { transposeA, transposeB, alpha } = node.attributes;
  if (a.shape.length === 2 && b.shape.length === 2) {
    const attributes = { transA: Number(transposeA), transB: Number(transposeB), alpha: { float: alpha } };
    const { packing } = emit;
    if (packing === undefined) return emit.node('Gemm', operands, attributes);
    if (!isLarge(a) || !isLarge(b) || (packing !== 'none' && !emit.isInitializer(b)))
      return joined(node, operands, emit) ?? emit.node('Gemm', operands, attributes);
    const other = { other_transB: 0, other_alpha: { float: 1 } };
    return emit.node('SplitGemm', operands, { ...attributes, packing: PACKING[packing], ...other }, GRADUS);
  }
  const [left, right] = operands as readonly [string, string];
  const turned = (name: string, rank: number) => emit.node('Transpose', [name], { perm: swapLastAxes(rank) });
  const product = emit.node('MatMul', [
    transposeA ? turned(left, a.shape.length) : left,
    transposeB ? turned(right, b.shape.length) : right,
  ]);
  return alpha === 1 ? product : emit.node('Mul', [product, emit.scalar('float32', alpha)]);
}

/** A product that is added to a large one which nothing else reads, such as that of an adapter, becomes part of its operator. */
function joined(node: TensorOf<'matmul'>, [left, right, addend]: readonly string[], emit: Emitter): string | undefined {
  const { transposeA, transposeB, alpha } = node.attributes;
  if (addend === undefined || transposeA || !emit.isReadOnce(node.inputs[2]!)) return undefined;
  const large = emit.takeNode(addend, ({ op, inputs }) => op === 'SplitGemm' && inputs.length <= 3);
  if (!large) return undefined;
  const inputs = [...large.inputs, ...(large.inputs.length === 2 ? [''] : []), left!, right!];
  const other = { other_transB: Number(transposeB), other_alpha: { float: alpha } };
  return emit.node('SplitGemm', inputs, { ...large.attributes, ...other }, GRADUS);
}

function isLarge({ shape }: Tensor): boolean {
  return shape.every((dimension) => typeof dimension !== 'number' || dimension >= LARGE);
}

function swapLastAxes(rank: number): number[] {
  return [...Array(rank - 2).keys(), rank - 1, rank - 2];
}
