// The public surface of the package: explicit named re-exports, nothing else.
/// <reference lib="esnext.disposable" preserve="true" />
// Its types name Disposable, which programs for older targets have no declaration of.

// Schemas of settings and of tools' arguments are made with zod. It is re-exported so that all of them use one version.

export { z } from 'zod';

// Training, evaluating and sampling with a configuration, as the command does.

export type { Config, ConfigInput } from './config/schema.ts';
export type { GivenParts, ProgramConfig } from './data/program-values.ts';
export { type EvaluateOptions, type EvaluateResult, evaluate } from './evaluation/evaluate.ts';
export { type SampleOptions, type SampleResult, sample } from './evaluation/sample.ts';
export { type TrainOptions, train, trainEvents } from './launch/train.ts';
export { type ServeOptions, type Serving, serve } from './server/serve.ts';
export type { StepEvent, TimedEvent, TrainEvent } from './training/events.ts';
export type { TrainResult } from './training/train-result.ts';

// Training from parts: the protocols, the generator of rollouts and the trainers.

export { type RandomStream, randomStream, streamSeed } from './common/random.ts';
export type { Phase } from './common/stopwatch.ts';
export { type DataLoader, shuffledExamples } from './data-loader.ts';
export { type Metrics, type MetricsLogger, meanMetrics, type TrackedPlace } from './logging.ts';
export { type CurriculumOptions, curriculum } from './loop/curriculum.ts';
export {
  GrpoTrainer,
  type GrpoTrainerOptions,
  type StepReport,
  type StepsOptions,
} from './loop/grpo-trainer.ts';
export {
  type GenerateOptions,
  RolloutGenerator,
  type RolloutOptions,
  type RolloutSource,
} from './loop/rollout-generator.ts';
export { SupervisedTrainer, type SupervisedTrainerOptions } from './loop/supervised-trainer.ts';
export { trainingSequence } from './loop/training-sequence.ts';
export type { Message, Role, ToolCall, ToolSpec } from './message.ts';
export {
  type Completion,
  type ConverseOptions,
  type Dialogue,
  type Policy,
  type SampledToken,
  type SampleRequest,
  type SamplingOptions,
  stopAtText,
  type TextLogprobs,
  type TextLogprobsOptions,
  type TokenLogprob,
} from './policy.ts';
export type { RenderedPrompt, Renderer, TurnText } from './rendering.ts';
export {
  type Action,
  type End,
  type Env,
  type EnvBuilder,
  type EpisodeScore,
  type Example,
  finalText,
  type Group,
  type GroupFate,
  type GroupOutcome,
  type GroupReason,
  type Reward,
  type State,
  type StopReason,
  type Trajectory,
  type Turn,
  type TurnTokens,
  wasPlayed,
} from './rl.ts';
export type { NamedReward, Progress, RewardFunction, RewardInput, RewardModel, WeightedReward } from './scoring.ts';
export { connectMlflow } from './trackers/mlflow.ts';
export { connectTensorBoard } from './trackers/tensorboard.ts';
export type {
  ConnectTracker,
  StartedTracker,
  StartTracking,
  TrackedEnd,
  TrackedRun,
  Tracker,
} from './trackers/tracker.ts';
export type { Model, TrainingBatch, TrainingSequence, UpdateResult } from './training-model.ts';

// The algorithm, and statistics of its results.

export { type Interval, meanInterval, pairedInterval, wilsonInterval } from './common/intervals.ts';
export { evaluatePolicy } from './evaluation/evaluate-policy.ts';
export type { EvaluationLog, EvaluationOptions } from './evaluation/evaluation-options.ts';
export { type AdvantageBaseline, groupAdvantages, type ScaleRewards } from './grpo/advantages.ts';
export type { GroupPolicy } from './grpo/group-policy.ts';
export { defaultLossSettings, type LossSettings, type LossType } from './grpo/loss-settings.ts';
export { learningRateSchedule } from './grpo/schedules.ts';
export type { LossOptions, Surrogate, SurrogateInputs, SurrogateLoss } from './grpo/surrogates.ts';

// Models, tokens and chat.

export type { LoadOptions, TrainableModel } from './backends/backend.ts';
export { findModel, obtainModel } from './backends/model-files/find-model.ts';
export { type NativeModel, openNativeModel } from './backends/native/native-model.ts';
export type { NativeModelOptions } from './backends/native/native-options.ts';
export type { MemoryPlan } from './backends/native/planning/memory-estimate.ts';
export type { AdamWSettings } from './backends/native/training/optimizer.ts';
export { type ModelText, openModelText, openRenderer } from './backends/open-renderer.ts';
export type { LoraSettings } from './models/lora.ts';
export { chatRenderer } from './renderers/chat-renderer.ts';
export { type ChatTemplate, createChatTemplate } from './renderers/chat-template.ts';
export { type ActionStream, actionStream } from './renderers/parse-turn.ts';
export { plainRenderer } from './renderers/plain-renderer.ts';
export { createTokenizer, type Tokenizer } from './tokenizers/tokenizer.ts';

// Environments, their problems and their tools.

export { type Configurable, configurable } from './common/configurable.ts';
export { loadRows, splitRows } from './data/data-files.ts';
export { saveRows } from './data/save-rows.ts';
export type { Dataset, Environment } from './environment.ts';
export { environmentByColumn } from './envs/by-column.ts';
export { type FinalAnswer, type FinalQuestionOptions, finalQuestion } from './envs/final-question.ts';
export { type Answer, type Conversation, type MultiTurnOptions, multiTurn, type Reply } from './envs/multi-turn.ts';
export { formatPrompt } from './envs/prompt-template.ts';
export { singleTurn } from './envs/single-turn.ts';
export {
  type AnsweredCall,
  type ToolEnvironmentOptions,
  type ToolEpisode,
  toolEnvironment,
} from './envs/tool-environment.ts';
export { arithmetic } from './tasksets/arithmetic.ts';
export { countdown } from './tasksets/countdown.ts';
export { letterCount } from './tasksets/letter-count.ts';
export { sort } from './tasksets/sort.ts';
export type { Taskset } from './tasksets/taskset.ts';
export type { AnswerLimits, ToolAnswer, ToolFailure } from './tools/answer-call.ts';
export { type ToolSyntaxName, toolSyntaxes } from './tools/syntaxes.ts';
export { type Tool, type ToolOptions, tool } from './tools/tool.ts';
export type { ToolSyntax } from './tools/tool-syntax.ts';

// Rewards.

export { type AdaptiveWeight, type RewardWeight, RewardWeights, type WeightSchedule } from './loop/reward-weights.ts';
export { codeTests, type Program, type ProgramEnd, type RunProgram } from './rewards/code-tests.ts';
export { clip, gate, product, schedule, type WeightedPart, weighted } from './rewards/combinators.ts';
export { contains } from './rewards/contains.ts';
export { cosineLength } from './rewards/cosine-length.ts';
export { diversity } from './rewards/diversity.ts';
export { environmentScores } from './rewards/environment-scores.ts';
export { exactMatch } from './rewards/exact-match.ts';
export { f1 } from './rewards/f1.ts';
export { jsonSchema } from './rewards/json-schema.ts';
export { length } from './rewards/length.ts';
export { type LlmJudgeConfig, type LlmJudgeOutside, llmJudge } from './rewards/llm-judge.ts';
export { mathVerify } from './rewards/math-verify.ts';
export { multipleChoice } from './rewards/multiple-choice.ts';
export { numericMatch } from './rewards/numeric-match.ts';
export { overlong } from './rewards/overlong.ts';
export { normaliseQaText, wordF1 } from './rewards/qa-text.ts';
export { regexMatch } from './rewards/regex-match.ts';
export { repetitionPenalty } from './rewards/repetition-penalty.ts';
export { splitThinking, type ThinkingParts, xmlContent } from './rewards/sections.ts';
export { style } from './rewards/style.ts';
export { thinkFormat } from './rewards/think-format.ts';
export { weightedRewards } from './rewards/weighted-rewards.ts';
export { xmlFormat } from './rewards/xml-format.ts';

// Runs on disk.

export { type Comparison, compareRuns } from './finished-runs/compare-runs.ts';
export { type ExportOptions, type ExportResult, exportRun } from './finished-runs/export.ts';
export { type InspectedRun, inspectRun } from './finished-runs/inspect-run.ts';
export { type KeptEvaluation, readEvaluatedProblems, readKeptEvaluations } from './runs/read-evaluation.ts';
export {
  findRun,
  listRuns,
  readEvaluations,
  readMetrics,
  readRollouts,
  readRun,
  readSamples,
} from './runs/read-run.ts';
export type {
  Alert,
  EvaluatedCompletion,
  EvaluatedProblem,
  EvaluationRecord,
  MetricsRecord,
  RolloutRecord,
  RunRecord,
  SampleRecord,
  Verdict,
} from './runs/records.ts';
export { learningVerdict } from './runs/verdict.ts';

// Errors.

export { type ErrorDetails, type ErrorKind, GradusError } from './errors.ts';
