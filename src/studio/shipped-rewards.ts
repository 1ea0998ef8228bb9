// All rewards that configurations may name: those of src/rewards, and code_tests, which is handed the processes it needs.
import { type Configurable, configurable } from '../configurable.ts';
import { builtinRewards } from '../rewards/builtin.ts';
import { codeTests, codeTestsConfig } from '../rewards/code-tests.ts';
import type { RewardFunction } from '../rewards.ts';
import { runProgram } from './run-program.ts';

export const shippedRewards: Readonly<Record<string, Configurable<RewardFunction>>> = {
  ...builtinRewards,
  code_tests: configurable('1 where the code passes its tests', codeTestsConfig, (config) =>
    codeTests(config, runProgram),
  ),
};
