// The TRL backend keeps the contract of backends.
import { backendContract } from '../../../test/backend-contract.ts';
import { tinyConfig } from '../../../test/tiny-model.ts';
import { useOraclePython } from '../../../test/trl-python.ts';
import type { ConfigInput } from '../../config/schema.ts';

useOraclePython();

backendContract({
  backend: 'trl',
  config: (folder) => tinyConfig(folder) as ConfigInput,
  ignored: [], // TRL acts on every key
});
