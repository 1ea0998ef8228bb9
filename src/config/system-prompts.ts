// Named system prompts for formats that rewards can check.

export const systemPrompts = {
  /** For `xml_format` with its default sections, and for rewards with `tag: answer`. */
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
