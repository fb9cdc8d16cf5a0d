import type { CallFiguresView, CallResult, EvaluationView } from './experiments.dto.js';

/** @param original null for a request that no span was made of. @param result null before the first answer */
export function evaluate(original: CallResult | null, result: CallResult | null): EvaluationView {
  const before = original && figuresOf(original);
  const after = result && figuresOf(result);
  if (!before || !after) return { hasResults: false, original: before, new: after, comparison: null };
  return {
    hasResults: true,
    original: before,
    new: after,
    comparison: {
      cost_change_percent: changePercent(before.cost, after.cost),
      total_tokens_change_percent: changePercent(before.total_tokens, after.total_tokens),
      input_tokens_change_percent: changePercent(before.input_tokens, after.input_tokens),
      output_tokens_change_percent: changePercent(before.output_tokens, after.output_tokens),
      duration_change_percent: changePercent(before.duration_seconds, after.duration_seconds),
    },
  };
}

export function figuresOf({ output, model, cost, usage, duration_ms: ms }: CallResult): CallFiguresView {
  const tokens = (...names: readonly string[]): number | null =>
    names.map((name) => numberIn(usage?.[name])).find((count) => count !== null) ?? null;
  const input = tokens('prompt_tokens', 'input_tokens');
  const outputs = tokens('completion_tokens', 'output_tokens');
  const sum = input === null && outputs === null ? null : (input ?? 0) + (outputs ?? 0);
  return {
    output,
    model,
    cost: numberIn(cost),
    total_tokens: tokens('total_tokens') ?? sum,
    input_tokens: input,
    output_tokens: outputs,
    duration_seconds: ms === null ? null : Math.round(ms) / 1_000,
  };
}

/** A number, or the one in a text such as "$0.001". */
function numberIn(value: unknown): number | null {
  const number = typeof value === 'string' ? Number(value.replace('$', '').trim() || NaN) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

function changePercent(before: number | null, after: number | null): number | null {
  return before === null || after === null || before === 0 ? null : ((after - before) / before) * 100;
}
