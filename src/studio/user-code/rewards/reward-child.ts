// The program of a child process in which reward functions run: it opens and calls them, and sends back the results.
import { GradusError, messageOf } from '../../../errors.ts';
import { frozenCopy } from '../../../frozen-copy.ts';
import { callReward } from '../../../rewards/reward-call.ts';
import type { RewardFunction } from '../../../rewards.ts';
import { guardProcess } from '../guard-process.ts';
import type { Answer, Request, RewardSource } from './reward-process-pool.ts';

const opened = new Map<string, Promise<RewardFunction>>();

process.on('message', async (request: Request) => process.send!(await answer(request)));
// An error that nothing catches, such as one in a timer, fails the call that is under way.
process.on('uncaughtException', (error) => process.send!({ crashed: messageOf(error) } satisfies Answer));
guardProcess();

async function answer({ source, judged }: Request): Promise<Answer> {
  try {
    const score = await rewardOf(source);
    return judged ? await callReward(score, frozenCopy(judged)) : { opened: true };
  } catch (error) {
    const { code, message, hint, path, kind } =
      error instanceof GradusError ? error : new GradusError('REWARD_LOAD_FAILED', messageOf(error));
    return { refused: [code, message, { ...(hint && { hint }), ...(path && { path }), kind }] };
  }
}

function rewardOf(source: RewardSource): Promise<RewardFunction> {
  const key = JSON.stringify(source);
  const reward = opened.get(key) ?? open(source);
  opened.set(key, reward);
  return reward;
}

async function open(source: RewardSource): Promise<RewardFunction> {
  if ('file' in source) {
    const { loadRewardFunction } = await import('./load-reward-function.ts');
    return loadRewardFunction(source.file);
  }
  const { shippedRewards } = await import('./shipped-rewards.ts');
  return shippedRewards[source.builtin]!.create(source.config);
}
