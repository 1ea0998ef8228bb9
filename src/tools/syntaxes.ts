// The known syntaxes of tool calls by name, one file each. `renderers/tool-use.ts` finds out which one a chat template uses.
import { deepSeekV3, deepSeekV31, kimiK2 } from './deepseek.ts';
import { functionGemma, gemma4 } from './gemma4.ts';
import { glm4 } from './glm4.ts';
import { gptOss } from './gpt-oss.ts';
import { hermes } from './hermes.ts';
import { deepSeekV4, deepSeekV32, miniMaxM2 } from './invoke.ts';
import { apertus, apriel, command, granite3, nemotronNano } from './json-lists.ts';
import { lfm2 } from './lfm2.ts';
import { llama3 } from './llama3.ts';
import { miniCpm5 } from './minicpm5.ts';
import { mistral, mistralArgs } from './mistral.ts';
import { olmo3 } from './olmo3.ts';
import { plain } from './plain.ts';
import { qwen3Coder, seedOss } from './qwen3-coder.ts';
import type { ToolSyntax } from './tool-syntax.ts';

export const toolSyntaxes = {
  hermes,
  llama3,
  plain,
  qwen3_coder: qwen3Coder,
  lfm2,
  mistral,
  mistral_args: mistralArgs,
  glm4,
  gemma4,
  function_gemma: functionGemma,
  deepseek_v3: deepSeekV3,
  deepseek_v31: deepSeekV31,
  deepseek_v32: deepSeekV32,
  deepseek_v4: deepSeekV4,
  kimi_k2: kimiK2,
  gpt_oss: gptOss,
  olmo3,
  granite3,
  nemotron_nano: nemotronNano,
  apriel,
  apertus,
  minicpm5: miniCpm5,
  command,
  minimax_m2: miniMaxM2,
  seed_oss: seedOss,
} satisfies Readonly<Record<string, ToolSyntax>>;

export type ToolSyntaxName = keyof typeof toolSyntaxes;
