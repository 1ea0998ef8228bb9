// The rewards that ship, by the names that configurations give them.
import { type Configurable, configurable } from '../configurable.ts';
import type { RewardFunction } from '../rewards.ts';
import { contains, containsConfig } from './contains.ts';
import { exactMatch, exactMatchConfig } from './exact-match.ts';
import { mathVerify, mathVerifyConfig } from './math-verify.ts';
import { numericMatch, numericMatchConfig } from './numeric-match.ts';
import { regexMatch, regexMatchConfig } from './regex-match.ts';
import { xmlFormat, xmlFormatConfig } from './xml-format.ts';

export const builtinRewards: Readonly<Record<string, Configurable<RewardFunction>>> = {
  numeric_match: configurable('1 where the number is right', numericMatchConfig, numericMatch),
  math_verify: configurable('1 where the mathematical answer is right, in any notation', mathVerifyConfig, mathVerify),
  exact_match: configurable('1 where the completion is the answer', exactMatchConfig, exactMatch),
  contains: configurable('1 where the answer occurs in the completion', containsConfig, contains),
  regex_match: configurable('1 where a regular expression matches', regexMatchConfig, regexMatch),
  xml_format: configurable('up to 1 for XML-like sections', xmlFormatConfig, xmlFormat),
};
