// The known syntaxes of tool calls by name, one file each. `renderers/tool-use.ts` finds out which one a chat template uses.
import { hermes } from './hermes.ts';
import { llama3 } from './llama3.ts';
import { plain } from './plain.ts';
import type { ToolSyntax } from './tool-syntax.ts';

export const toolSyntaxes = { hermes, llama3, plain } satisfies Readonly<Record<string, ToolSyntax>>;

export type ToolSyntaxName = keyof typeof toolSyntaxes;
