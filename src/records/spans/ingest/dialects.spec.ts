import type { Attributes } from './attribute-lookup.js';
import { spansInJson } from './json-bodies.js';
import { normaliseSpan } from './normalise-span.js';

/*
 * Spellings as the packages have them: opentelemetry-semantic-conventions-ai 0.4.9 and 0.5.1 with
 * opentelemetry-instrumentation-anthropic 0.39 and 0.62, openinference-semantic-conventions 0.1.42, ai 4, 5 and 6,
 * langfuse 3 and 5, pydantic-ai-slim 0.8 and 2.68, logfire 4.41, opentelemetry-semantic-conventions 0.66b.
 */
const now = Date.parse('2026-01-23T10:30:00Z');
const scope = { project: 'default', keyId: null, now, retentionDays: 30 };
const rowOf = (attributes: Attributes, more: object = {}) => {
  const value = (given: unknown) =>
    typeof given === 'number'
      ? Number.isInteger(given)
        ? { intValue: String(given) }
        : { doubleValue: given }
      : { stringValue: typeof given === 'string' ? given : JSON.stringify(given) };
  const span = {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    name: 'call',
    startTimeUnixNano: `${now - 2_000}000000`,
    endTimeUnixNano: `${now - 1_000}000000`,
    attributes: Object.entries(attributes).map(([key, given]) => ({ key, value: value(given) })),
    ...more,
  };
  const [read] = spansInJson({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }).spans;
  if (!read) throw new Error('No span was read');
  return normaliseSpan(read(), scope);
};

const model = 'claude-sonnet-4-5-20250929';
const figures = { inputTokens: 130_213, outputTokens: 10, cachedTokens: 128_955, cost: 0.04355025 };

describe('a call that reads and writes a cache costs the same in the words of', () => {
  const gen = { 'gen_ai.request.model': model, 'gen_ai.usage.output_tokens': 10 };
  const input = { ...gen, 'gen_ai.usage.input_tokens': 130_213 };
  const anthropic = {
    input_tokens: 5,
    output_tokens: 10,
    cache_read_input_tokens: 128_955,
    cache_creation_input_tokens: 1_253,
  };
  const details = { cached_tokens: 128_955, cache_creation_tokens: 1_253 };
  it.each<[string, Attributes]>([
    [
      'OpenTelemetry and Logfire',
      {
        ...input,
        'gen_ai.usage.cache_read.input_tokens': 128_955,
        'gen_ai.usage.cache_creation.input_tokens': 1_253,
      },
    ],
    [
      'openLLMetry until 0.4',
      {
        ...gen,
        'gen_ai.usage.prompt_tokens': 130_213,
        'gen_ai.usage.cache_read_input_tokens': 128_955,
        'gen_ai.usage.cache_creation_input_tokens': 1_253,
      },
    ],
    [
      'older openLLMetry',
      {
        'llm.request.model': model,
        'llm.usage.prompt_tokens': 130_213,
        'llm.usage.completion_tokens': 10,
        'llm.usage.cache_read_input_tokens': 128_955,
        'llm.usage.cache_creation_input_tokens': 1_253,
      },
    ],
    [
      'OpenInference',
      {
        'llm.model_name': model,
        'llm.token_count.prompt': 130_213,
        'llm.token_count.completion': 10,
        'llm.token_count.prompt_details.cache_read': 128_955,
        'llm.token_count.prompt_details.cache_write': 1_253,
      },
    ],
    [
      'the AI SDK',
      {
        'ai.model.id': model,
        'ai.usage.inputTokens': 130_213,
        'ai.usage.outputTokens': 10,
        'ai.usage.inputTokenDetails.cacheReadTokens': 128_955,
        'ai.usage.inputTokenDetails.cacheWriteTokens': 1_253,
      },
    ],
    [
      'Langfuse with Anthropic',
      { 'langfuse.observation.model.name': model, 'langfuse.observation.usage_details': anthropic },
    ],
    [
      'Langfuse, its own names',
      {
        'langfuse.observation.model.name': model,
        'langfuse.observation.usage_details': {
          input: 5,
          output: 10,
          input_cached_tokens: 128_955,
          input_cache_creation: 1_253,
        },
      },
    ],
    [
      'Pydantic AI',
      {
        ...input,
        'gen_ai.usage.details.cache_read_tokens': 128_955,
        'gen_ai.usage.details.cache_write_tokens': 1_253,
      },
    ],
    ["vLLora, with Anthropic's usage", { model_name: model, usage: anthropic }],
    [
      'vLLora, with details',
      {
        model_name: model,
        usage: { input_tokens: 130_213, output_tokens: 10, prompt_tokens_details: details },
      },
    ],
  ])('%s', (_dialect, attributes) => {
    expect(rowOf(attributes)).toMatchObject({ kind: 'llm', model, costSource: 'computed', ...figures });
  });

  it('is charged for writes as its provider charges them', () => {
    const usage = { 'gen_ai.usage.input_tokens': 1_000, 'gen_ai.usage.cache_creation.input_tokens': 1_000 };
    const cost = (name: string) => rowOf({ 'gen_ai.request.model': name, ...usage }).cost;
    expect(['claude-haiku-4-5', 'gpt-5.6', 'gpt-4o'].map(cost)).toEqual([0.00125, 0.005, 0.0025]);
  });
});

describe('other figures and texts are read in the words of', () => {
  it.each<[string, Attributes, object]>([
    ['Pydantic AI: a cost', { 'gen_ai.request.model': model, 'operation.cost': 0.5 }, { cost: 0.5 }],
    ['Langfuse: a cost', { 'langfuse.observation.cost_details': { total: 0.5 } }, { cost: 0.5 }],
    [
      'Langfuse: a generation',
      { 'langfuse.observation.type': 'generation', 'langfuse.observation.output': 'Error: no such pod' },
      { kind: 'llm', semanticPattern: 'error:' },
    ],
    [
      'Langfuse: a tool',
      { 'langfuse.observation.type': 'tool', 'langfuse.observation.output': 'Error: no such pod' },
      { kind: 'tool', semanticPattern: 'error:' },
    ],
    [
      'Langfuse: an error',
      { 'langfuse.observation.level': 'ERROR', 'langfuse.observation.status_message': 'broken' },
      { status: 'error', errorMessage: 'broken' },
    ],
    [
      'Pydantic AI: a tool',
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'status',
        tool_arguments: { pod: 'a' },
        tool_response: 'Error: no such pod',
      },
      { kind: 'tool', toolName: 'status', argumentsHash: expect.any(String), semanticPattern: 'error:' },
    ],
    [
      'Logfire: a call',
      {
        'gen_ai.operation.name': 'chat',
        request_data: {
          model,
          messages: [{ role: 'tool', tool_call_id: 'c', content: 'Error: no such pod' }],
        },
        response_data: { message: { role: 'assistant', content: 'Error: I give up' } },
      },
      { model, requestModel: model, toolErrors: [{ tool_call_id: 'c' }], semanticSource: 'output' },
    ],
    ['openLLMetry: a thread', { 'traceloop.association.properties.session_id': 's' }, { threadId: 's' }],
    [
      'OpenInference: models',
      { 'llm.request.model_name': 'a', 'llm.response.model_name': 'b' },
      { requestModel: 'a', model: 'b' },
    ],
  ])('%s', (_what, attributes, row) => expect(rowOf(attributes)).toMatchObject(row));
});

describe('the status of a span', () => {
  it.each([2, '2', 'ERROR', 'error', 'STATUS_CODE_ERROR'])('of the code %j is an error', (code) => {
    expect(rowOf({}, { status: { code, message: 'boom' } })).toMatchObject({
      status: 'error',
      errorMessage: 'boom',
    });
    expect(rowOf({}, { status: code })).toMatchObject({ status: 'error' });
  });

  it.each([0, 1, '0', '1', 'OK', 'Unset', 'STATUS_CODE_OK', 'STATUS_CODE_UNSET', null, undefined, ''])(
    'of the code %j is none',
    (code) => expect(rowOf({}, { status: { code } }).status).toBe('success'),
  );

  it.each([3, -1, 'FAIL', 'STATUS_CODE_', true, {}, [2]])('of the code %j refuses the span', (code) => {
    expect(() => rowOf({}, { status: { code } })).toThrow('its status code must be unset, ok or error');
  });

  it('is an error where the span names one and no status', () => {
    const type = { 'error.type': 'TimeoutError' };
    expect(rowOf(type)).toMatchObject({ status: 'error', errorMessage: 'TimeoutError' });
    expect(rowOf(type, { status: { code: 'OK' } }).status).toBe('success');
    expect(rowOf({ 'error.type': '' }).status).toBe('success');
  });

  it.each([
    { 'otel.status_code': 'ERROR' },
    { status_code: 'STATUS_CODE_ERROR' },
    { status_code: 2 },
    { status_code: '500' },
    { status: 'ERROR' },
    { status: 'failed' },
  ])('stands in the attribute %j', (attributes) => expect(rowOf(attributes).status).toBe('error'));
});

it('a span that ends before it starts is kept, with no duration', () => {
  const { startUs, finishUs } = rowOf({}, { endTimeUnixNano: `${now - 2_001}000000` });
  expect([startUs, finishUs]).toEqual([(now - 2_000) * 1_000, (now - 2_000) * 1_000]);
});

describe('a message of the role tool', () => {
  const errorsOf = (content: string) =>
    rowOf({ 'gen_ai.operation.name': 'chat', 'gen_ai.input.messages': [{ role: 'tool', content }] })
      .toolErrors;

  it.each([
    'unknown tool fetsch',
    'Unknown tool: "fetsch"',
    'No such tool named fetsch',
    'Unknown function fetsch',
  ])('that says %j is an error of the tool', (content) =>
    expect(errorsOf(content)).toEqual([{ tool_name: 'fetsch', message: content }]),
  );

  it.each(['There is no known tool for that', `${'A page about agents. '.repeat(20)}unknown tool fetsch`])(
    'that says %.40j is none',
    (content) => expect(errorsOf(content)).toBeNull(),
  );
});
