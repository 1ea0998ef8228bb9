// What an answer is held to: JSON, a schema, or a call of a tool.
import type { ToolSpec } from '../../message.ts';
import { opensThoughts, thinkingTags } from '../../opening.ts';
import type { Renderer } from '../../rendering.ts';
import { ApiError } from './api-error.ts';
import { type GrammarRule, literal, oneOf } from './grammar.ts';
import { anyObject, SchemaUnsupported, schemaGrammar } from './json-grammar.ts';
import { type ChatRequest, toolsOf } from './requests.ts';

/** A form of answers, and the field that asks for it. */
export interface AnswerForm {
  readonly grammar: GrammarRule;
  readonly field: 'response_format' | 'tool_choice';
}

/**
 * The form of the answers to a request; undefined if any text will do. Throws an `ApiError` for a schema that they cannot be held to, for a tool that is
 * not offered, and for JSON beside tools, whose calls have another form.
 * @param opening what the prompt has written of the answer: a call by force first closes thoughts
 */
export function answerForm(request: ChatRequest, renderer: Renderer, opening?: string): AnswerForm | undefined {
  const { response_format: format, tool_choice: choice } = request;
  const tools = toolsOf(request);
  if (format && format.type !== 'text') {
    const field = 'response_format';
    if (tools.length > 0) throw new ApiError(400, 'unsupported', 'This server knows no JSON beside tools', field);
    const { schema } = format.type === 'json_schema' ? format.json_schema : {};
    return { field, grammar: schema ? readable(field, () => schemaGrammar(schema)) : anyObject };
  }
  if (!forcesCall(request)) return undefined;
  const field = 'tool_choice';
  const only = typeof choice === 'object' ? choice?.function.name : undefined;
  const forced = tools.filter(({ name }) => only === undefined || name === only);
  if (forced.length === 0) throw new ApiError(400, 'invalid_value', 'tool_choice: there is no such tool', field);
  if (!renderer.renderCall) throw new ApiError(400, 'unsupported', 'This model knows no calls of tools', field);
  const write = renderer.renderCall;
  const closing = opensThoughts(opening) ? [literal(`${thinkingTags[1]}\n\n`)] : [];
  return {
    field,
    grammar: readable(field, () => oneOf(...forced.map((tool) => [...closing, callGrammar(tool, write)]))),
  };
}

/** Whether a request wants a call whatever the model would say. */
export function forcesCall({ tool_choice: choice }: Pick<ChatRequest, 'tool_choice'>): boolean {
  return Boolean(choice) && choice !== 'auto' && choice !== 'none';
}

function callGrammar({ name, parameters }: ToolSpec, write: NonNullable<Renderer['renderCall']>): GrammarRule {
  const written = write({ name, arguments: {} });
  const place = written.lastIndexOf('{}');
  const given = schemaGrammar({ type: 'object', ...parameters });
  return oneOf([literal(written.slice(0, place)), given, literal(written.slice(place + 2))]);
}

function readable(field: string, read: () => GrammarRule): GrammarRule {
  try {
    return read();
  } catch (error) {
    const isKnown = error instanceof SchemaUnsupported || error instanceof RangeError;
    if (isKnown) throw new ApiError(400, 'invalid_value', error.message, field);
    throw error;
  }
}
