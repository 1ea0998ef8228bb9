// The benchmarks by name: `node bench/main.ts` lists them, `node bench/main.ts NAME` runs one.
import { benchmarkAgentCalls } from './agent-calls/agent-calls.ts';
import { benchmarkAgents } from './agents/agents.ts';
import { benchmarkBuiltin } from './builtin/benchmark.ts';
import { benchmarkEngines } from './engines/engines.ts';
import { benchmarkGeneration } from './generation/generation.ts';
import { benchmarkGpu } from './gpu/gpu.ts';
import { benchmarkGrowth } from './growth/growth.ts';
import { benchmarkHalving } from './halving/halving.ts';
import { benchmarkLearning } from './learning/learning.ts';
import { benchmarkMachine } from './machine/machine.ts';
import { benchmarkPasses } from './passes/passes.ts';
import { benchmarkPrecision } from './precision/precision.ts';
import { benchmarkRounding } from './rounding/rounding.ts';
import { benchmarkShapes } from './shapes/shapes.ts';
import { benchmarkSharing } from './sharing/sharing.ts';
import { benchmarkStartUp } from './start-up/start-up.ts';
import { benchmarkTimeToReward } from './time-to-reward/time-to-reward.ts';
import { benchmarkVsTrl } from './vs-trl/vs-trl.ts';

interface Benchmark {
  readonly about: string;
  run(): void | Promise<void>;
}

const benchmarks: Readonly<Record<string, Benchmark>> = {
  'agent-calls': {
    about: 'tokens a second of 32 agents with one call each, against the same completions of environments',
    run: benchmarkAgentCalls,
  },
  agents: {
    about: 'an agent of the AI SDK against the same task as an environment with tools: held-out accuracy, three seeds',
    run: benchmarkAgents,
  },
  builtin: { about: 'the toy of the built-in backend against the same loop in numpy', run: benchmarkBuiltin },
  engines: {
    about: 'one configuration under native, with int8 rollouts and under TRL: is the held-out accuracy the same?',
    run: benchmarkEngines,
  },
  generation: {
    about: 'tokens a second of sampling SmolLM2-135M, against transformers and llama.cpp',
    run: benchmarkGeneration,
  },
  gpu: { about: 'steps on a GPU through WebGPU, next to the CPU, without a download', run: benchmarkGpu },
  growth: {
    about: 'how a step’s time grows with completions, prompts and threads',
    run: benchmarkGrowth,
  },
  halving: {
    about: 'what successive halving finds, beside a grid, and in how many of its steps: five seeds',
    run: benchmarkHalving,
  },
  learning: { about: 'held-out accuracy before and after, several seeds, a control', run: benchmarkLearning },
  machine: {
    about: 'what this machine can do, in five minutes and without a download: anyone’s',
    run: benchmarkMachine,
  },
  passes: {
    about: 'forward and backward alone, against PyTorch and ONNX Runtime’s bare products',
    run: benchmarkPasses,
  },
  precision: {
    about: 'how far rounded products are from float32, next to PyTorch in bfloat16',
    run: benchmarkPrecision,
  },
  rounding: {
    about: 'whether rounded products learn the same as exact ones: three tasks, held-out accuracy',
    run: benchmarkRounding,
  },
  shapes: {
    about: 'GRPO steps of a model of Qwen2.5-0.5B’s shape with random weights: time and memory',
    run: benchmarkShapes,
  },
  sharing: {
    about: 'what agents gain from what their calls have in common, and what batch-invariance costs',
    run: benchmarkSharing,
  },
  'start-up': {
    about: 'how long it takes until a model can sample and learn, and until a command has answered',
    run: benchmarkStartUp,
  },
  'time-to-reward': {
    about: 'seconds until SmolLM2-135M is mostly right at arithmetic, against TRL',
    run: benchmarkTimeToReward,
  },
  'vs-trl': { about: 'GRPO steps against TRL’s on this CPU: time and memory', run: benchmarkVsTrl },
};

const [name] = process.argv.slice(2);
const benchmark = name === undefined ? undefined : benchmarks[name];
if (benchmark) await benchmark.run();
else {
  for (const [known, { about }] of Object.entries(benchmarks)) console.log(`${known.padEnd(14)} ${about}`);
  if (name !== undefined) {
    console.error(`error: there is no benchmark ${name}`);
    process.exitCode = 2;
  }
}
