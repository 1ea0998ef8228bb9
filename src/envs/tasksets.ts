// The task sets that ship, by the names that configurations give them.
import { type Configurable, configurable } from '../configurable.ts';
import { arithmetic, arithmeticConfig } from './arithmetic.ts';
import { digitSum, digitSumConfig } from './digit-sum.ts';
import type { Taskset } from './taskset.ts';

export const tasksets: Readonly<Record<string, Configurable<Taskset>>> = {
  arithmetic: configurable('sums, differences and products of two whole numbers', arithmeticConfig, arithmetic),
  'digit-sum': configurable('one problem: so many digits that add up to a target', digitSumConfig, digitSum),
};
