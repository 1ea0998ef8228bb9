// All rewards that configurations can name: those of src/rewards, and code_tests with the sandbox that it runs programs in.
import type { RewardConfig } from '../../../config/schema.ts';
import { type Configurable, configurable } from '../../../configurable.ts';
import { builtinRewards } from '../../../rewards/builtin.ts';
import { type CodeTestsConfig, codeTests, codeTestsConfig } from '../../../rewards/code-tests.ts';
import type { RewardFunction } from '../../../rewards.ts';
import { assertSandboxed, runProgram } from './run-program.ts';

export const shippedRewards: Readonly<Record<string, Configurable<RewardFunction>>> = {
  ...builtinRewards,
  code_tests: configurable('1 where the code passes its tests', codeTestsConfig, (config) =>
    codeTests(config, runProgram),
  ),
};

/** Whether this system has what the rewards named need. Throws `SANDBOX_UNAVAILABLE`. */
export async function assertUsable(rewards: readonly RewardConfig[]): Promise<void> {
  for (const { name, config } of rewards) {
    if (name !== 'code_tests') continue;
    const { language = 'python', allow_unsandboxed = false } = config as CodeTestsConfig;
    if (!allow_unsandboxed) await assertSandboxed(language);
  }
}
