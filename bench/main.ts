// The benchmarks by name: `node bench/main.ts` lists them, `node bench/main.ts NAME` runs one. Each is imported when it runs: `gpu` and `machine` do without what the others install.

import { CannotMeasure } from './flags.ts';

interface Benchmark {
  readonly about: string;
  run(): Promise<void>;
}

const benchmarks: Readonly<Record<string, Benchmark>> = {
  'agent-calls': {
    about: 'tokens a second of 32 agents with one call each, against the same completions of environments',
    run: async () => (await import('./agent-calls/agent-calls.ts')).benchmarkAgentCalls(),
  },
  agents: {
    about: 'an agent of the AI SDK against the same task as an environment with tools: held-out accuracy, three seeds',
    run: async () => (await import('./agents/agents.ts')).benchmarkAgents(),
  },
  builtin: {
    about: 'the toy of the built-in backend against the same loop in numpy',
    run: async () => (await import('./builtin/benchmark.ts')).benchmarkBuiltin(),
  },
  engines: {
    about: 'one configuration under native, with int8 rollouts and under TRL: is the held-out accuracy the same?',
    run: async () => (await import('./engines/engines.ts')).benchmarkEngines(),
  },
  generation: {
    about: 'tokens a second of sampling SmolLM2-135M, against transformers and llama.cpp',
    run: async () => (await import('./generation/generation.ts')).benchmarkGeneration(),
  },
  gpu: {
    about: 'steps on a GPU through WebGPU, next to the CPU, without a download',
    run: async () => (await import('./gpu/gpu.ts')).benchmarkGpu(),
  },
  growth: {
    about: 'how a step’s time grows with completions, prompts and threads',
    run: async () => (await import('./growth/growth.ts')).benchmarkGrowth(),
  },
  halving: {
    about: 'what successive halving finds, beside a grid, and in how many of its steps: five seeds',
    run: async () => (await import('./halving/halving.ts')).benchmarkHalving(),
  },
  learning: {
    about: 'held-out accuracy before and after, several seeds, a control',
    run: async () => (await import('./learning/learning.ts')).benchmarkLearning(),
  },
  machine: {
    about: 'what this machine can do, in five minutes and without a download: anyone’s',
    run: async () => (await import('./machine/machine.ts')).benchmarkMachine(),
  },
  passes: {
    about: 'forward and backward alone, against PyTorch and ONNX Runtime’s bare products',
    run: async () => (await import('./passes/passes.ts')).benchmarkPasses(),
  },
  precision: {
    about: 'how far rounded products are from float32, next to PyTorch in bfloat16',
    run: async () => (await import('./precision/precision.ts')).benchmarkPrecision(),
  },
  rounding: {
    about: 'whether rounded products learn the same as exact ones: three tasks, held-out accuracy',
    run: async () => (await import('./rounding/rounding.ts')).benchmarkRounding(),
  },
  shapes: {
    about: 'GRPO steps of a model of Qwen2.5-0.5B’s shape with random weights: time and memory',
    run: async () => (await import('./shapes/shapes.ts')).benchmarkShapes(),
  },
  sharing: {
    about: 'what agents gain from what their calls have in common, and what batch-invariance costs',
    run: async () => (await import('./sharing/sharing.ts')).benchmarkSharing(),
  },
  'start-up': {
    about: 'how long it takes until a model can sample and learn, and until a command has answered',
    run: async () => (await import('./start-up/start-up.ts')).benchmarkStartUp(),
  },
  'time-to-reward': {
    about: 'seconds until SmolLM2-135M is mostly right at arithmetic, against TRL',
    run: async () => (await import('./time-to-reward/time-to-reward.ts')).benchmarkTimeToReward(),
  },
  'vs-trl': {
    about: 'GRPO steps against TRL’s on this CPU: time and memory',
    run: async () => (await import('./vs-trl/vs-trl.ts')).benchmarkVsTrl(),
  },
};

const [name] = process.argv.slice(2);
const benchmark = name === undefined ? undefined : benchmarks[name];
if (benchmark) {
  await benchmark.run().catch((error) => {
    if (!(error instanceof CannotMeasure) && !String(error.code).startsWith('ERR_PARSE_ARGS')) throw error;
    console.error(`error: ${error.message}; see node bench/main.ts ${name} --help`);
    process.exitCode = 2;
  });
} else {
  for (const [known, { about }] of Object.entries(benchmarks)) console.log(`${known.padEnd(14)} ${about}`);
  if (name !== undefined) {
    console.error(`error: there is no benchmark ${name}`);
    process.exitCode = 2;
  }
}
