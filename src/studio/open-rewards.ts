// The rewards of a configuration: the built-in ones by name, and a function of the user's.
import { basename } from 'node:path';
import { z } from 'zod';
import type { Config, RewardConfig } from '../config/schema.ts';
import { GradusError } from '../errors.ts';
import { existingNames } from '../nearest.ts';
import { builtinRewards } from '../rewards/builtin.ts';
import type { WeightedReward } from '../rewards.ts';
import { openTaskset } from './problems.ts';
import { loadRewardFunction } from './user-code.ts';

export interface OpenReward extends WeightedReward {
  /** What decides the score: the right answer of the row, the form of the completion alone, or whatever a function of the user's likes. */
  readonly judges: 'answer' | 'form' | 'unknown';
  /** The column with the right answer. */
  readonly answerColumn: string;
  /** The regular expression that finds the answer in a completion, if there is one. */
  readonly pattern?: string;
}

export interface OpenRewards {
  /** The first decides what counts as correct: where it gives at least 1. */
  readonly rewards: readonly OpenReward[];
  /** The columns of the data that built-in rewards compare with. */
  readonly columns: readonly string[];
}

/**
 * Those that the configuration names, built in or brought by its task set. Throws `CONFIG_MISSING` without any reward, `CONFIG_INVALID` for
 * names and settings that do not exist, `REWARD_LOAD_FAILED` for a file of the user's.
 */
export async function openRewards(config: Config): Promise<OpenRewards> {
  const { answer_column } = config;
  const ofTaskset = rewardsOfTaskset(config);
  const builtin = config.reward.map((part, i) => {
    const brought = ofTaskset.find(({ name }) => name === part.name);
    return brought ? { ...brought, weight: part.weight } : builtinReward(part, `reward.${i}`, answer_column);
  });
  const own = config.reward_fn === null ? [] : [await userReward(config.reward_fn, answer_column)];
  const named = [...builtin, ...own];
  const compared = builtin.filter(({ judges }) => judges === 'answer');
  if (named.length === 0 && ofTaskset.length === 0) throw nothingScores(config);
  return {
    rewards: named.length > 0 ? named : ofTaskset,
    columns: [...new Set(compared.map(({ answerColumn }) => answerColumn))],
  };
}

/** What a task set brings: all of it where the configuration names no reward, or those that it names. */
function rewardsOfTaskset(config: Config): readonly OpenReward[] {
  const { rewards = [] } = openTaskset(config) ?? {};
  return rewards.map((reward) => ({ ...reward, judges: 'answer', answerColumn: 'answer' }));
}

function nothingScores({ taskset }: Config): GradusError {
  return new GradusError('CONFIG_MISSING', `reward or reward_fn is missing: ${taskset} brings no reward of its own`, {
    hint: `add reward: numeric_match, or another of ${Object.keys(builtinRewards).join(', ')}`,
    path: 'reward',
  });
}

/** Throws `CONFIG_INVALID`, with `path` as the place of its settings. */
export function builtinReward({ name, weight, config }: RewardConfig, path: string, answerColumn: string): OpenReward {
  const row = builtinRewards[name];
  if (!row) {
    throw new GradusError('CONFIG_INVALID', `${path}: there is no reward ${name}`, {
      hint: `${existingNames(name, Object.keys(builtinRewards))}; for a function of yours set reward_fn`,
      path,
    });
  }
  const { properties = {} } = z.toJSONSchema(row.config, { io: 'input' });
  const compares = 'answer_column' in properties;
  const { answer_column = answerColumn, ...settings } = config;
  const pattern = typeof config.pattern === 'string' && { pattern: config.pattern };
  try {
    const score = row.create(compares || 'answer_column' in config ? { ...settings, answer_column } : settings);
    return {
      name,
      weight,
      score,
      judges: compares ? 'answer' : 'form',
      answerColumn: String(answer_column),
      ...pattern,
    };
  } catch (error) {
    throw error instanceof GradusError ? atPath(error, `${path}.config`) : error;
  }
}

/** A function of the user's, called what it is exported as, or else as its file. */
export async function userReward(reference: string, answerColumn: string): Promise<OpenReward> {
  const name = /:([\w$]+)$/.exec(reference)?.[1] ?? basename(reference).replace(/\.\w+$/, '');
  return { name, score: await loadRewardFunction(reference), judges: 'unknown', answerColumn };
}

/** The error of a reward's own settings, told where in the configuration they are. */
function atPath({ code, message, hint, path, kind }: GradusError, parent: string): GradusError {
  return new GradusError(code, path === undefined ? `${parent}: ${message}` : `${parent}.${message}`, {
    ...(hint !== undefined && { hint }),
    path: path === undefined ? parent : `${parent}.${path}`,
    kind,
  });
}
