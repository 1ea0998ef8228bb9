// Weights quantized to 8 or 4 bits for sampling, so that each token reads a quarter or an eighth of the memory.
import { GradusError } from '../errors.ts';

export interface Quantization {
  readonly bits: 8 | 4;
  /** How many numbers share a scale. */
  readonly block: number;
}

export const int8: Quantization = { bits: 8, block: 64 };
export const int4: Quantization = { bits: 4, block: 32 };

export const packedName = (weight: string) => `${weight}.packed`;
export const scalesName = (weight: string) => `${weight}.scales`;

/** The shapes of the two tensors that represent a weight [N, K]. */
export function quantizedShapes([rows, inner]: readonly [number, number], { bits, block }: Quantization) {
  const blocks = Math.ceil(inner / block);
  return { packed: [rows, blocks, (block * bits) / 8] as const, scales: [rows, blocks] as const };
}

/**
 * Rounds each block of a weight [N, K] to scale · (q − 2^(bits−1)), in the layout of `Operators.quantizedMatmul`. The number with the
 * largest magnitude in a block is represented exactly. Throws `WEIGHT_NOT_FINITE`.
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
        throw new GradusError('WEIGHT_NOT_FINITE', 'a weight is not finite', { kind: 'failed' });
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
