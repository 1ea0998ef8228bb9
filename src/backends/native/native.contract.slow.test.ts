// The native backend keeps the contract of backends.
import { backendContract } from '../../../test/backend-contract.ts';
import { tinyConfig } from '../../../test/tiny-model.ts';
import type { ConfigInput } from '../../config/schema.ts';

backendContract({
  backend: 'native',
  config: (folder) => tinyConfig(folder) as ConfigInput,
  ignored: ['compute=modal'],
});
