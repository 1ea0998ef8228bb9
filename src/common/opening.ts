// What a rendered prompt has already written of the answer: a tag that it opens, such as the `<think>` with which templates of reasoning models end.

/** The tags around thoughts, which contain no calls. */
export const thinkingTags = ['<think>', '</think>'] as const;

/** A tag at the end of a text. */
const atEnd = /<[a-zA-Z][\w-]*>\s*$/;

/**
 * The end of a prompt, from the tag on that it opens for the completion; empty if it opens none.
 * @param added what the template adds for the next turn, where a tag counts even if text follows it; unknown by default
 */
export function openingOf(prompt: string, added?: () => string): string {
  const tag = atEnd.exec(prompt);
  if (tag) return tag[0];
  const begin = prompt.lastIndexOf(thinkingTags[0]);
  if (begin < 0 || prompt.includes(thinkingTags[1], begin) || !added) return '';
  const opened = prompt.slice(begin);
  return added().includes(opened) ? opened : '';
}

/** Whether what a prompt has written of an answer opens thoughts. */
export function opensThoughts(opening: string): boolean {
  return opening.startsWith(thinkingTags[0]);
}

/** How many characters two texts have in common at their beginnings. */
export function sharedLength(one: string, other: string): number {
  let shared = 0;
  while (shared < one.length && one[shared] === other[shared]) shared++;
  return shared;
}
