// The variables that a configuration or a request may give a chat template, and those that the renderer sets itself.
import { z } from 'zod';

/** Variables that the renderer sets, and arguments of `apply_chat_template`, which other engines would confuse with a variable of that name. */
const reserved = [
  ...['messages', 'conversation', 'tools', 'documents', 'add_generation_prompt', 'continue_final_message'],
  ...['chat_template', 'tokenize', 'padding', 'truncation', 'max_length', 'return_tensors', 'return_dict'],
  ...['return_assistant_tokens_mask', 'tokenizer_kwargs'],
];

/** Tokens by their role, such as `bos_token`. */
const isReserved = (name: string) => reserved.includes(name) || name.endsWith('_token');

export const templateVariables = z
  .record(z.string(), z.unknown())
  .refine((given) => !Object.keys(given).some(isReserved), {
    error: ({ input }) => {
      const name = Object.keys(input as object).find(isReserved);
      return `${name} is set by the renderer: expected variables of the template’s own, such as enable_thinking`;
    },
  });
