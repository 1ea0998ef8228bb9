// Divides prompts among runs that read several of them together.
import type { RowGroup } from './row-reader.ts';

/** The most prompt tokens, padding included, that one run reads. */
const PREFILL_TOKENS = 1024;

/** Splits groups of rows with equal tokens into batches of at most `PREFILL_TOKENS` tokens; a longer group is a batch of its own. */
export function prefillBatches(groups: readonly RowGroup[]): RowGroup[][] {
  const batches: RowGroup[][] = [];
  let width = 0;
  for (const group of groups) {
    const { length } = group[0];
    const batch = batches.at(-1);
    if (batch && Math.max(width, length) * (batch.length + 1) <= PREFILL_TOKENS) {
      batch.push(group);
      width = Math.max(width, length);
    } else {
      batches.push([group]);
      width = length;
    }
  }
  return batches;
}
