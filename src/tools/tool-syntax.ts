// How families of models write tool calls: the interface, and a reader that finds calls in streamed text.

import { readArguments } from '../call-arguments.ts';
import { thinkingTags } from '../common/opening.ts';
import { isObject, messageOf } from '../errors.ts';
import { parseJson } from '../formats/parse-json.ts';
import type { ToolCall } from '../message.ts';

/** The syntax of one family. */
export interface ToolSyntax {
  /** Special tokens that are part of a call and must not be stripped from the text. */
  readonly markers: readonly string[];
  /**
   * The first call in `text` that is complete, or that cannot become one; `undefined` if there is none yet.
   * @param ended whether no more text will come
   */
  find(text: string, ended: boolean): FoundCall | undefined;
  /** The index at which a call, complete or not, may begin in a text that is not finished; its length if there is none. */
  mayBegin(text: string): number;
  /** Writes a call in this syntax. */
  render(call: NamedArguments): string;
}

/** The id of a turn's call, counted from 1: nine letters and digits, as Mistral's templates want them. */
export function callId(index: number): string {
  return `call${String(index).padStart(5, '0')}`;
}

export type NamedArguments = Pick<ToolCall, 'name' | 'arguments' | 'argumentsText'>;

/** The position of a call in a text, and the call itself or an error message. */
export interface FoundCall {
  readonly start: number;
  readonly end: number;
  readonly call: NamedArguments | string;
}

/** A parsed turn. */
export interface ParsedTurn {
  /** The text around the calls. */
  readonly content: string;
  readonly toolCalls: readonly ToolCall[];
  /** The errors of calls that cannot be parsed. */
  readonly parseErrors: readonly string[];
}

/** Parses one turn from pieces of its text. */
export interface TurnReader {
  /** Adds text and returns the calls that it completes. Calls that cannot be parsed are reported by `end`. */
  push(text: string): readonly ToolCall[];
  /**
   * The beginning of the content as far as later text cannot change it: it ends before anything that may be a call or could not be parsed as one,
   * and before spaces that a call would remove. Only its leading spaces may still be removed by `end`.
   */
  certain(): string;
  /** Returns the whole turn; called once, after the last text. */
  end(): ParsedTurn;
}

const [THINK, THOUGHT] = thinkingTags;

/**
 * Reads a turn of a syntax. A turn that begins with `<think>`, or whose prompt has opened thoughts, has no calls before `</think>`.
 * @param isThinking whether the prompt has opened thoughts @default false
 */
export function readTurn(syntax: ToolSyntax, isThinking = false): TurnReader {
  const toolCalls: ToolCall[] = [];
  const parseErrors: string[] = [];
  let content = '';
  let rest = '';
  let beforeFault: string | undefined;
  let beginsWithCall = false;
  /** Undefined while the first characters may yet become `<think>`. */
  let thinking = isThinking ? true : undefined;
  const readThoughts = () => {
    const beginning = rest.trimStart();
    if (thinking === undefined && !THINK.startsWith(beginning)) thinking = beginning.startsWith(THINK);
    const end = thinking ? rest.indexOf(THOUGHT) : -1;
    if (end < 0) return;
    content = rest.slice(0, end + THOUGHT.length);
    rest = rest.slice(content.length);
    thinking = false;
  };
  const read = (ended: boolean) => {
    readThoughts();
    if (thinking) return;
    for (let found = syntax.find(rest, ended); found; found = syntax.find(rest, ended)) {
      content += rest.slice(0, found.start);
      beginsWithCall ||= content.trim() === '';
      rest = rest.slice(found.end);
      if (typeof found.call === 'string') {
        parseErrors.push(found.call);
        beforeFault ??= content;
      } else toolCalls.push({ id: callId(toolCalls.length + 1), ...found.call });
    }
  };
  return {
    push(text) {
      const before = toolCalls.length;
      rest += text;
      read(false);
      return toolCalls.slice(before);
    },
    certain() {
      const text = beforeFault ?? content + (thinking ? rest : rest.slice(0, syntax.mayBegin(rest)));
      return beginsWithCall ? text.trim() : text.trimEnd();
    },
    end() {
      read(true);
      content += rest;
      const called = toolCalls.length + parseErrors.length > 0;
      return { content: called ? content.trim() : content, toolCalls, parseErrors };
    },
  };
}

/** The call that a JSON object `{"name": …, [key]: {…}}` describes, or an error message. */
export function callFromJson(json: string, key: 'arguments' | 'parameters'): NamedArguments | string {
  return parsed(json, (value) => {
    const { name } = value;
    if (typeof name !== 'string') return 'the call has no "name"';
    const args = readArguments(json, key);
    return args ? { name, ...args } : `the call of ${name} has no object "${key}"`;
  });
}

/** The call of `name` with the arguments that a JSON object is, or an error message. */
export function callWithArguments(name: string, json: string): NamedArguments | string {
  return parsed(json, () => ({ name, ...readArguments(json)! }));
}

/** What `read` makes of a JSON object, or why the text is not one. */
function parsed<T>(json: string, read: (value: Record<string, unknown>) => T): T | string {
  try {
    const value: unknown = parseJson(json);
    return isObject(value) ? read(value) : 'the call is no JSON object';
  } catch (error) {
    return `the call is not valid JSON: ${messageOf(error)}`;
  }
}

/** JSON with Python's spaces after commas and colons, which models saw in training. */
export function spacedJson(value: unknown): string {
  // Strings in JSON contain no line feeds, so every line feed here is layout.
  const lines = JSON.stringify(value, null, 1);
  return lines.replaceAll(/(?<=[{[])\n\s*|\n\s*(?=[}\]])/g, '').replaceAll(/\n\s*/g, ' ');
}
