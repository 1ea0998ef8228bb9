// Named system prompts for formats that rewards can check.

export const systemPrompts = {
  /** Fits `xml_format` with its default sections, and rewards with `tag: answer`. */
  reasoning_answer: [
    'Think before you answer. Write everything in these two sections, each once:',
    '<reasoning>',
    'how you come to the answer',
    '</reasoning>',
    '<answer>',
    'the answer alone',
    '</answer>',
  ].join('\n'),
} as const;

export const systemPromptNames = Object.keys(systemPrompts) as (keyof typeof systemPrompts)[];
