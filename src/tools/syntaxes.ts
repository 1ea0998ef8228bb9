// The ways to write tool calls that are known, by name: a file and a row each. Which one a template writes, `renderers/tool-use.ts` finds out.
import { hermes } from './hermes.ts';
import { llama3 } from './llama3.ts';
import { plain } from './plain.ts';
import type { ToolSyntax } from './tool-syntax.ts';

export const toolSyntaxes = { hermes, llama3, plain } satisfies Readonly<Record<string, ToolSyntax>>;

export type ToolSyntaxName = keyof typeof toolSyntaxes;
