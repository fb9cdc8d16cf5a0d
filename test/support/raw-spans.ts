import fc from 'fast-check';
import type { KnownText, RawSpan } from './trace-oracle.js';

/** Texts as tools and models give them, with what they tell. */
export const knownTexts: readonly KnownText[] = [
  { text: 'All is well.' },
  { text: 'Here are the three cheapest flights.' },
  { text: 'unauthorized', pattern: 'unauthorized', severity: 'high' },
  { text: 'Failed to open unknown tool serch', pattern: 'failed to', severity: 'high' },
  { text: 'Connection refused', pattern: 'connection refused', severity: 'high' },
  { text: 'Page not found', pattern: 'not found', severity: 'medium' },
];

const messages = [
  'timed out after 5000 ms',
  'timed out after 7000 ms',
  'unknown tool fetsch',
  'no such row 4f9a2b7c11',
];
const operations = [
  'run',
  'agent',
  'tools',
  'api_invoke',
  'api_invoke',
  'model_call',
  'model_call',
  'tool_call',
  'chat',
  'chat',
];
const tools = ['search', 'fetch', 'sum'];
const models = ['alpha-1', 'alpha-2', 'beta'];
const givenArguments = ['{"q":"a","n":1}', '{"n":1,"q":"a"}', '{"q":"b"}', '{}'];

/** Numbers from which a span is made; the same numbers make the same span. */
const drawn = fc.record({
  operation: fc.nat(operations.length - 1),
  trace: fc.nat(2),
  /** How far back among the spans of the trace its parent stands; 0: none, 9: one that is not there. */
  parent: fc.nat(9),
  start: fc.nat(900),
  ms: fc.oneof(fc.nat(30), fc.nat(90_000)),
  us: fc.constantFrom(0, 0, 499, 500, 501),
  thread: fc.constantFrom(undefined, null, 'th-1', 'th-2'),
  run: fc.constantFrom(undefined, 'run-1', 'run-2', 'run-3'),
  label: fc.constantFrom(undefined, undefined, '', 'support', 'billing'),
  error: fc.constantFrom<unknown>(undefined, undefined, undefined, '', false, null, ...messages, {
    message: 'deep',
  }),
  code: fc.constantFrom(undefined, undefined, 200, 404),
  status: fc.constantFrom(undefined, undefined, 'ok', 'error'),
  cost: fc.option(fc.nat(2_000_000), { nil: undefined, freq: 2 }),
  costForm: fc.nat(2),
  input: fc.option(fc.nat(5_000), { nil: undefined, freq: 2 }),
  output: fc.option(fc.nat(900), { nil: undefined, freq: 2 }),
  cached: fc.option(fc.nat(400), { nil: undefined, freq: 1 }),
  prompts: fc.boolean(),
  model: fc.option(fc.nat(models.length - 1), { nil: undefined, freq: 3 }),
  asked: fc.option(fc.nat(models.length - 1), { nil: undefined, freq: 1 }),
  ttft: fc.option(fc.oneof(fc.nat(4_000), fc.integer({ min: 1_000_001, max: 4_000_000 })), {
    nil: undefined,
    freq: 1,
  }),
  text: fc.option(fc.nat(knownTexts.length - 1), { nil: undefined, freq: 3 }),
  calls: fc.array(fc.tuple(fc.nat(tools.length - 1), fc.nat(givenArguments.length - 1)), { maxLength: 3 }),
  results: fc.array(fc.tuple(fc.nat(3), fc.nat(knownTexts.length - 1)), { maxLength: 2 }),
});
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never;

/** Spans as vLLora's clients send them, with attributes that are missing or odd, all of this hour. */
export const rawSpans = (most: number, least = 0): fc.Arbitrary<RawSpan[]> =>
  fc.array(drawn, { minLength: least, maxLength: most, size: 'max' }).map(spansOf);

function spansOf(all: readonly Drawn[]): RawSpan[] {
  const base = (Math.floor(Date.now() / 1_000) - 3_600) * 1_000_000;
  const ofTrace = new Map<string, string[]>();
  return all.map((one, index) => {
    const trace = `trace-${one.trace}`;
    const earlier = ofTrace.get(trace) ?? [];
    // The same ids occur in each trace.
    const id = `s${earlier.length}`;
    ofTrace.set(trace, [...earlier, id]);
    const start = base + one.start * 1_000_000 + index;
    return {
      trace_id: trace,
      span_id: id,
      ...parentOf(one, earlier),
      ...(one.thread !== undefined && { thread_id: one.thread }),
      ...(one.run !== undefined && { run_id: one.run }),
      operation_name: operations[one.operation] ?? '',
      start_time_us: start,
      finish_time_us: start + one.ms * 1_000 + one.us,
      attribute: attributesOf(one, index),
    };
  });
}

function parentOf({ parent }: Drawn, earlier: readonly string[]): Partial<RawSpan> {
  if (parent === 0) return {};
  return { parent_span_id: parent === 9 ? 'elsewhere' : (earlier.at(-parent) ?? null) };
}

function attributesOf(one: Drawn, index: number): Record<string, unknown> {
  const name = operations[one.operation];
  const cost = one.cost === undefined ? undefined : one.cost / 1_000_000;
  const usage = {
    [one.prompts ? 'prompt_tokens' : 'input_tokens']: one.input,
    [one.prompts ? 'completion_tokens' : 'output_tokens']: one.output,
    cached_tokens: one.cached,
  };
  const isModels = name === 'api_invoke' || name === 'model_call' || name === 'chat';
  const request = {
    model: one.asked === undefined ? undefined : models[one.asked],
    messages: one.results.flatMap(([tool, text], place) => [
      // Only one turn, for earlier ones stood in an earlier span.
      ...(place === 0
        ? [
            {
              role: 'assistant',
              tool_calls: [{ id: 'call-0', type: 'function', function: { name: tools[0], arguments: '{}' } }],
            },
          ]
        : []),
      { role: 'tool', tool_call_id: `call-${tool}`, content: knownTexts[text]?.text },
    ]),
  };
  return {
    ...(one.label !== undefined && { label: one.label }),
    ...(one.error !== undefined && { error: one.error }),
    ...(one.code !== undefined && { status_code: one.code }),
    ...(one.status !== undefined && { status: one.status }),
    ...(cost !== undefined && { cost: [cost, String(cost), JSON.stringify({ cost })][one.costForm] }),
    ...(one.input !== undefined || one.output !== undefined ? { usage } : {}),
    ...(one.model !== undefined && { model_name: models[one.model] }),
    ...(one.ttft !== undefined && { ttft: one.ttft }),
    ...(one.text !== undefined && { output: knownTexts[one.text]?.text }),
    ...(name === 'tool_call' && one.results[0] && { tool_call_id: `call-${one.results[0][0]}` }),
    ...(isModels && {
      request,
      tool_calls: one.calls.map(([tool, given], place) => ({
        id: `c${index}-${place}`,
        type: 'function',
        function: { name: tools[tool], arguments: givenArguments[given] },
      })),
    }),
    ...(name === 'tool_call' && { tool_name: tools[one.start % 3], arguments: givenArguments[one.ms % 4] }),
  };
}
