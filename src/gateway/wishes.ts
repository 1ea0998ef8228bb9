// Wishes about an answer's length and about summaries of thoughts, which agents have for OpenAI's models. While they are trained, they change nothing.
import { isObject } from '../errors.ts';

const verbosities = ['low', 'medium', 'high'];
const summaries = ['auto', 'concise', 'detailed'];

/** A request without such wishes. Everything else is for its schema to judge. */
export function withoutWishes(body: unknown): unknown {
  if (!isObject(body)) return body;
  const { text, reasoning } = body;
  return {
    ...without(body, 'verbosity', verbosities),
    ...(isObject(text) && { text: without(text, 'verbosity', verbosities) }),
    ...(isObject(reasoning) && { reasoning: without(reasoning, 'summary', summaries) }),
  };
}

function without(fields: Readonly<Record<string, unknown>>, name: string, values: readonly string[]): object {
  const { [name]: value, ...rest } = fields;
  return values.some((known) => known === value) ? rest : fields;
}
