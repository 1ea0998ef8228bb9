// Dialogues with a policy: sequences of requests for completions, many of which are held at the same time.
import type { ConverseOptions, Dialogue, Policy, SampleRequest } from './policy.ts';

/**
 * Holds dialogues to their ends, and tells what came of each: as the policy does it, or else in step, all that are not over taking their turns in
 * one batch.
 */
export async function converse<T>(
  policy: Policy,
  dialogues: readonly Dialogue<T>[],
  options: ConverseOptions<T>,
  onEnd: (result: T, index: number) => void,
): Promise<void> {
  if (policy.converse) return policy.converse(dialogues, options, onEnd);
  const all = [...dialogues];
  let speaking = [...all.keys()];
  let heard = await Promise.all(await begin(all, (dialogue) => dialogue.next()));
  while (true) {
    const arrived = options.arrivals?.() ?? [];
    speaking.push(...arrived.map((_, i) => all.length + i));
    all.push(...arrived);
    heard.push(...(await Promise.all(await begin(arrived, (dialogue) => dialogue.next()))));
    const requests: SampleRequest[] = [];
    speaking = speaking.filter((index, i) => {
      const { done, value } = heard[i]!;
      if (done) onEnd(value, index);
      else requests.push(value);
      return !done;
    });
    if (requests.length === 0) return;
    const completions = await policy.sample(requests, options);
    heard = await Promise.all(await begin(speaking, (index, i) => all[index]!.next(completions[i]!)));
  }
}

/** After blocking the thread for this many milliseconds, yields so that others that are done can continue. */
const longBlock = 1;

/** Begins one after another. The time that one blocks the thread for counts for none that is done before. */
export async function begin<T, R>(
  items: Iterable<T>,
  play: (item: T, index: number) => Promise<R>,
): Promise<Promise<R>[]> {
  const begun: Promise<R>[] = [];
  let heldBack = 0;
  let last = performance.now();
  for (const item of items) {
    begun.push(play(item, begun.length));
    const now = performance.now();
    const isLong = now - last > longBlock;
    last = now;
    if (!isLong) continue;
    // Failures are reported to whoever awaits these promises, which may be later.
    for (; heldBack < begun.length; heldBack++) begun[heldBack]!.catch(() => {});
    await new Promise((done) => setTimeout(done, 0));
    last = performance.now();
  }
  return begun;
}
