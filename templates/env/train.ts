// Trains a model to guess numbers, in a few turns each: node train.ts --model MODEL
import { appendFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  defaultLossSettings,
  findModel,
  GrpoTrainer,
  openNativeModel,
  openRenderer,
  RolloutGenerator,
  randomStream,
  shuffledExamples,
  streamSeed,
  wilsonInterval,
} from 'gradus';
import { guessingGame, isFound, maxTurns, type Problem, reward } from './env.ts';

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string', default: 'HuggingFaceTB/SmolLM2-135M-Instruct' },
    'chat-template': { type: 'string', default: 'auto' },
    'max-steps': { type: 'string', default: '60' },
    'prompts-per-step': { type: 'string', default: '4' },
    'num-generations': { type: 'string', default: '8' },
    'learning-rate': { type: 'string', default: '1e-4' },
    'eval-problems': { type: 'string', default: '64' },
    out: { type: 'string', default: 'runs/guessing' },
    seed: { type: 'string', default: '0' },
  },
});
const seed = Number(flags.seed);
if (existsSync(flags.out)) throw new Error(`${flags.out} is there already: give another with --out`);
mkdirSync(flags.out, { recursive: true });

// Problems: training has numbers up to 9 and from 20 on, held out are those between.
const train = makeProblems(400, 'train', ({ secret }) => secret < 10 || secret >= 20);
const heldOut = makeProblems(Number(flags['eval-problems']), 'eval', ({ secret }) => secret >= 10 && secret < 20);

const maxTokens = 8; // of one guess
const modelPath = findModel(flags.model);
const model = await openNativeModel({
  modelPath,
  lora: { r: 16, alpha: 32, targetModules: 'all-linear' },
  loss: { ...defaultLossSettings, max_completion_length: maxTokens * maxTurns },
  optimizer: { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 1 },
  temperature: 1,
  seed,
});
const generator = new RolloutGenerator(guessingGame, await openRenderer(modelPath, flags['chat-template']), {
  maxTokens,
  maxTurns,
});
const trainer = new GrpoTrainer({
  model,
  generator,
  rewardModel: reward,
  dataLoader: shuffledExamples(train, { seed }),
  promptsPerStep: Number(flags['prompts-per-step']),
  numGenerations: Number(flags['num-generations']),
  learningRate: Number(flags['learning-rate']),
  maxSteps: Number(flags['max-steps']),
  seed,
  logger: {
    log(step, metrics) {
      appendFileSync(join(flags.out, 'metrics.jsonl'), `${JSON.stringify({ step, ...metrics })}\n`);
      console.log(
        `step ${step}  reward ${metrics.reward?.toFixed(3)}  found ${metrics['rewards/found/mean']?.toFixed(2)}`,
      );
    },
  },
});

await evaluate('before');
await trainer.train();
await evaluate('after');
await model.save(flags.out);
model.dispose();

/** How often held-out numbers are found, at the temperature of training. */
async function evaluate(when: string): Promise<void> {
  const episodes = await generator.generate(heldOut, model.policy(), { samplesPerExample: 1, seed: 1 });
  const found = episodes.flat().filter(isFound).length;
  const [low, high] = wilsonInterval(found, heldOut.length).map((bound) => bound.toFixed(2));
  console.log(`${when}: found ${found} of ${heldOut.length} held-out numbers (95 % ${low}–${high})`);
}

function makeProblems(count: number, name: string, isWanted: (problem: Problem) => boolean): Problem[] {
  const random = randomStream(streamSeed(seed, name));
  const problems: Problem[] = [];
  while (problems.length < count) {
    const low = 1 + random.integer(20);
    const high = low + 4 + random.integer(6);
    const problem = { low, high, secret: low + random.integer(high - low + 1) };
    if (isWanted(problem)) problems.push(problem);
  }
  return problems;
}
