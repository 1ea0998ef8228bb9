// mcp.result/1: the tools that gradus mcp serves.
import { z } from 'zod';
import { resultSchema } from './envelope.ts';

export const mcpSchema = resultSchema('mcp.result/1', 'mcp', 'The tools that the MCP server has, with --list.', {
  tools: z.array(z.strictObject({ name: z.string(), description: z.string() })),
});
