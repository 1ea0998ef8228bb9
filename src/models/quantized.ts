// Weights rounded to 8 or 4 bits for sampling: a quarter or an eighth of the memory that each token has to read.
import { GradusError } from '../errors.ts';

/** How many numbers share a scale. */
const BLOCK = 64;

export interface Quantization {
  readonly bits: 8 | 4;
  readonly block: number;
}

export const int8: Quantization = { bits: 8, block: BLOCK };
export const int4: Quantization = { bits: 4, block: BLOCK / 2 };

export const packedName = (weight: string) => `${weight}.packed`;
export const scalesName = (weight: string) => `${weight}.scales`;

/** The shapes of what stands for a weight [N, K]. */
export function quantizedShapes([rows, inner]: readonly [number, number], { bits, block }: Quantization) {
  const blocks = Math.ceil(inner / block);
  return { packed: [rows, blocks, (block * bits) / 8] as const, scales: [rows, blocks] as const };
}

/**
 * Rounds a weight [N, K], row by row and block by block, to scale · (q − 2^(bits−1)), the layout of `Operators.quantizedMatmul`.
 * The number of largest magnitude in a block is met exactly, at one end of the range.
 */
export function quantize(
  weight: Float32Array,
  [rows, inner]: readonly [number, number],
  { bits, block }: Quantization,
  into: { packed: Uint8Array; scales: Float32Array },
): void {
  const blocks = Math.ceil(inner / block);
  const middle = 2 ** (bits - 1);
  const perByte = 8 / bits;
  for (let row = 0; row < rows; row++) {
    for (let b = 0; b < blocks; b++) {
      const start = row * inner + b * block;
      const end = Math.min(start + block, (row + 1) * inner);
      let extreme = 0;
      for (let i = start; i < end; i++) if (Math.abs(weight[i]!) > Math.abs(extreme)) extreme = weight[i]!;
      if (!Number.isFinite(extreme))
        throw new GradusError('WEIGHT_NOT_FINITE', 'a weight is infinite', { kind: 'failed' });
      const scale = extreme / -middle;
      const inverse = scale === 0 ? 0 : 1 / scale;
      const place = row * blocks + b;
      into.scales[place] = scale;
      for (let i = 0; i < block; i++) {
        const number = start + i < end ? weight[start + i]! : 0;
        const level = Math.min(2 * middle - 1, Math.round(number * inverse) + middle);
        const byte = (place * block + i) / perByte;
        if (perByte === 1) into.packed[byte] = level;
        else if (i % 2 === 0) into.packed[byte] = level;
        else into.packed[Math.floor(byte)]! |= level << 4;
      }
    }
  }
}
