// Verdicts on learning: from intervals of differences, never from end points.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EvaluationRecord } from '../runs/records.ts';
import { learningVerdict } from './train-result.ts';

const evaluation = (step: number, per_problem: (number | null)[]): EvaluationRecord => ({
  ...{
    step,
    problems: per_problem.length,
    samples_per_problem: 1,
    temperature: 1,
    metrics: {},
    intervals: {},
    per_problem,
  },
});

/** `count` problems of which the first `right` are correct. */
const correct = (right: number, count = 100) => Array.from({ length: count }, (_, i) => Number(i < right));

const verdict = (before: (number | null)[], after: (number | null)[]) =>
  learningVerdict([evaluation(0, before), evaluation(9, after)]);

test('improved, regressed, flat and inconclusive', () => {
  assert.equal(verdict(correct(40), correct(80))!.learning, 'improved');
  assert.equal(verdict(correct(80), correct(40))!.learning, 'regressed');
  assert.equal(verdict(correct(40), correct(40))!.learning, 'flat');
  assert.equal(verdict(correct(40), correct(47))!.learning, 'inconclusive');
});

test('few problems show nothing, however equal', () => {
  assert.equal(verdict(correct(4, 10), correct(4, 10))!.learning, 'inconclusive');
});

test('only problems that both could judge are compared', () => {
  assert.deepEqual(verdict([0, null, 1, 0], [1, 1, null, 1]), {
    learning: 'improved',
    difference: 1,
    interval: [1, 1],
    problems: 2,
  });
  assert.equal(verdict([null], [1]), undefined);
});

test('one evaluation is no comparison', () => {
  assert.equal(learningVerdict([evaluation(0, [1])]), undefined);
  assert.equal(learningVerdict([]), undefined);
  assert.equal(verdict([1], [1, 0]), undefined);
});
