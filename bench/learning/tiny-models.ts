// The small Llamas that start the benchmark's tasks: each learnt its task from a teacher who is right too seldom.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { characterTokenizerJson } from '../../demo/character-tokenizer.ts';
import { descriptions, type Lesson, pretrain } from '../../demo/pretrain.ts';
import { countdown, sort } from '../../src/entries/environments.ts';
import { type Example, type RandomStream, randomStream, streamSeed } from '../../src/index.ts';

interface Teaching {
  /** Every character of the task's questions and answers. */
  readonly alphabet: string;
  /** Training problems, never held-out ones. */
  rows(count: number): Example[];
  /** What the teacher answers, right or wrong. */
  answer(row: Example, random: RandomStream): string;
}

const lessonCount = 256_000;

const teachings: Readonly<Record<string, Teaching>> = {
  sort: {
    alphabet: 'abcdefgh=',
    rows: (count) =>
      sort({ shortest: 5, longest: 5, alphabet: 'abcdefgh', template: '{letters}=' }).rows('train', count, 0),
    // Two times out of three, the teacher makes only one pass of bubble sort.
    answer: ({ question, answer }, random) =>
      random.uniform() < 2 / 3 ? onePass(String(question).slice(0, -1)) : String(answer),
  },
  countdown: {
    alphabet: '0123456789+-*/() :=',
    rows: (count) => countdown({ operators: ['+', '-', '*'], template: '{numbers}:{target}=' }).rows('train', count, 0),
    // Two times out of three, the teacher joins the numbers by any operators, whatever the result.
    answer: ({ numbers, answer }, random) =>
      random.uniform() < 2 / 3 ? anyExpression(numbers as number[], random) : String(answer),
  },
};

/** Swaps neighbours that are out of order, from left to right, once. */
function onePass(letters: string): string {
  const sorted = [...letters];
  for (let i = 0; i + 1 < sorted.length; i++) {
    if (sorted[i]! > sorted[i + 1]!) [sorted[i], sorted[i + 1]] = [sorted[i + 1]!, sorted[i]!];
  }
  return sorted.join('');
}

function anyExpression(numbers: readonly number[], random: RandomStream): string {
  return numbers.map((number, i) => (i === 0 ? number : `${'+-*'[random.integer(3)]}${number}`)).join('');
}

/** What the teacher of a task says, in order. */
export function lessonsFor(task: string, count = lessonCount): Lesson[] {
  const { rows, answer } = teachings[task]!;
  const random = randomStream(streamSeed(0, 'teacher', task));
  return rows(count).map((row) => ({ question: String(row.question), answer: answer(row, random) }));
}

/** Makes the model of a task in `folder`, unless it is there: a minute or two. */
export async function makeTinyModel(task: string, folder: string): Promise<void> {
  if (existsSync(join(folder, 'model.safetensors'))) return;
  const { alphabet } = teachings[task]!;
  const files = {
    ...descriptions,
    'config.json': { ...descriptions['config.json'], vocab_size: alphabet.length + 1 },
    'tokenizer.json': characterTokenizerJson(alphabet, ['<end>']),
  };
  await pretrain(folder, files, lessonsFor(task));
}
