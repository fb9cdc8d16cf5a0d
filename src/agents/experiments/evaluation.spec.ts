import type { CallResult } from './experiments.dto.js';
import { evaluate } from './experiments.service.js';

/** A span as the store gives it: figures in `input_tokens`, its cost as a number. */
const span: CallResult = {
  output: 'The one at 9:40.',
  model: 'gpt-4.1-2025-04-14',
  cost: 0.002256,
  usage: { input_tokens: 812, output_tokens: 79 },
  duration_ms: 1_834,
};
/** An answer as an endpoint gives it. */
const answer: CallResult = {
  output: 'At 9:40.',
  model: 'gpt-4.1-mini-2025-04-14',
  cost: '$0.001128',
  usage: { prompt_tokens: 812, completion_tokens: 158, total_tokens: 970 },
  duration_ms: 917,
};

it('compares two calls, whatever their figures are called', () => {
  expect(evaluate(span, answer)).toEqual({
    hasResults: true,
    original: {
      output: 'The one at 9:40.',
      model: 'gpt-4.1-2025-04-14',
      cost: 0.002256,
      total_tokens: 891,
      input_tokens: 812,
      output_tokens: 79,
      duration_seconds: 1.834,
    },
    new: {
      output: 'At 9:40.',
      model: 'gpt-4.1-mini-2025-04-14',
      cost: 0.001128,
      total_tokens: 970,
      input_tokens: 812,
      output_tokens: 158,
      duration_seconds: 0.917,
    },
    comparison: {
      cost_change_percent: -50,
      total_tokens_change_percent: ((970 - 891) / 891) * 100,
      input_tokens_change_percent: 0,
      output_tokens_change_percent: 100,
      duration_change_percent: -50,
    },
  });
});

it('says nothing about what is not known, or began at nothing', () => {
  const poor: CallResult = { output: null, model: null, cost: 0, usage: null, duration_ms: null };
  const { comparison } = evaluate(poor, answer);
  expect(Object.values(comparison ?? {})).toEqual([null, null, null, null, null]);
  const back = evaluate(answer, poor);
  expect(back.comparison).toMatchObject({ cost_change_percent: -100, total_tokens_change_percent: null });
  expect(back.new).toMatchObject({ cost: 0, total_tokens: null, duration_seconds: null });
});

it.each([
  ['$0.001', 0.001],
  ['0.25', 0.25],
  [' $ 1.5 ', 1.5],
  ['free', null],
  ['', null],
  ['$', null],
  [0, 0],
  [null, null],
])('reads the cost %j as %j', (cost, expected) => {
  expect(evaluate({ ...answer, cost }, null).original?.cost).toBe(expected);
});

it('has no results before there are two calls', () => {
  const none = { hasResults: false, comparison: null };
  expect(evaluate(span, null)).toMatchObject({ ...none, original: { cost: 0.002256 }, new: null });
  expect(evaluate(null, answer)).toMatchObject({ ...none, original: null, new: { cost: 0.001128 } });
  expect(evaluate(null, null)).toEqual({ ...none, original: null, new: null });
});

it('rounds times to milliseconds, and percents not at all', () => {
  const { comparison, new: after } = evaluate({ ...span, duration_ms: 3 }, { ...answer, duration_ms: 4.4 });
  expect(after?.duration_seconds).toBe(0.004);
  expect(comparison?.duration_change_percent).toBeCloseTo(100 / 3, 10);
});
