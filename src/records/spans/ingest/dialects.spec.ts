import type { Attributes } from './attribute-lookup.js';
import { spansInJson } from './otlp-json.js';
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

describe('tokens', () => {
  const gen = { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.output_tokens': 631 };
  const chat = { ...gen, 'gen_ai.request.model': model, 'gen_ai.usage.input_tokens': 4_299 };
  const ofInput = (names: readonly string[]) => names.map((name) => [`gen_ai.usage.${name}`] as const);

  it.each(
    ofInput([
      'cache_read.input_tokens',
      'cache_read_input_tokens',
      'cache_read_tokens',
      'cached_tokens',
      'details.cache_read_tokens',
    ]),
  )('read from the cache are read in %s', (name) => {
    expect(rowOf({ ...chat, [name]: 2_000 })).toMatchObject({ cachedTokens: 2_000, inputTokens: 4_299 });
  });

  it.each(
    ofInput([
      'cache_creation.input_tokens',
      'cache_creation_input_tokens',
      'cache_creation_tokens',
      'cache_write.input_tokens',
      'cache_write_input_tokens',
      'cache_write_tokens',
      'details.cache_write_tokens',
    ]),
  )('written to the cache are read in %s', (name) => {
    const row = rowOf({ ...chat, [name]: 17_787, 'gen_ai.usage.cache_read_input_tokens': 35_574 });
    expect(row).toMatchObject({ inputTokens: 57_660, cost: expect.closeTo(0.0997, 4) });
  });

  it.each(
    ofInput([
      'reasoning.output_tokens',
      'reasoning_tokens',
      'reasoning_output_tokens',
      'output_reasoning_tokens',
      'output_tokens.reasoning',
      'completion_tokens_details.reasoning_tokens',
      'details.reasoning_tokens',
    ]),
  )('of reasoning are read in %s', (name) => expect(rowOf({ ...chat, [name]: 8 }).reasoningTokens).toBe(8));

  it.each([
    [{ 'gen_ai.usage.input_token_details': { cache_read: 9, cache_creation: 7 } }, { cachedTokens: 9 }],
    [{ 'gen_ai.usage.output_token_details': { reasoning: 8 } }, { reasoningTokens: 8 }],
    [{ 'gen_ai.usage.raw': { prompt_tokens_details: { cached_tokens: 9 } } }, { cachedTokens: 9 }],
  ])('are read in details: %j', (details, row) => expect(rowOf({ ...chat, ...details })).toMatchObject(row));

  it.each([
    [
      'a total that holds the cache beside the input',
      { 'gen_ai.usage.total_tokens': 6_930 },
      6_299,
      0.022962,
    ],
    ['a total of input and output', { 'gen_ai.usage.total_tokens': 4_930 }, 4_299, 0.016962],
    ['a total of something else', { 'gen_ai.usage.total_tokens': 1 }, 4_299, 0.016962],
    ['no total', {}, 4_299, 0.016962],
  ])('of the input hold those of the cache or not: %s', (_, total, inputTokens, cost) => {
    const row = rowOf({ ...chat, 'gen_ai.usage.cache_read_input_tokens': 2_000, ...total });
    expect(row).toMatchObject({ inputTokens, cost: expect.closeTo(cost, 8) });
  });
});

describe('the kind of a span is read in', () => {
  it.each<[Attributes, string]>([
    [{ 'gen_ai.operation.name': 'CHAT' }, 'llm'],
    [{ 'gen_ai.operation.name': 'Execute_Tool' }, 'tool'],
    [{ 'gen_ai.operation.name': 'Chats' }, 'other'],
    [{ 'langsmith.span.kind': 'llm' }, 'llm'],
    [{ 'langsmith.span.kind': 'tool', 'gen_ai.operation.name': 'chain' }, 'tool'],
    [{ 'langsmith.span.kind': 'retriever' }, 'other'],
    [{ 'span.type': 'llm_request' }, 'llm'],
    [{ 'span.type': 'tool.execution' }, 'other'],
    [{ 'span.type': 'interaction' }, 'agent'],
    [{ 'mlflow.spanType': '"CHAT_MODEL"' }, 'llm'],
    [{ 'mlflow.spanType': 'TOOL' }, 'tool'],
    [{ 'braintrust.span_attributes': { type: 'llm' } }, 'llm'],
    [{ 'mastra.span.type': 'model_generation' }, 'chain'],
  ])('%j', (attributes, kind) => expect(rowOf(attributes).kind).toBe(kind));
});

/** As their documentation has the attributes: the packages have no exporter of their own to run. */
describe('attributes as documented by', () => {
  it.each<[string, Attributes, object]>([
    [
      'Claude Code: a request, whose input excludes the cache',
      {
        ...{ 'span.type': 'llm_request', 'session.id': 's', model, input_tokens: 3_000, output_tokens: 10 },
        ...{ cache_read_tokens: 2_000, cache_creation_tokens: 100 },
      },
      {
        kind: 'llm',
        model,
        threadId: 's',
        inputTokens: 5_100,
        outputTokens: 10,
        cachedTokens: 2_000,
        cost: 0.010125,
      },
    ],
    [
      'Claude Code: a tool',
      { 'span.type': 'tool', tool_name: 'Bash', 'session.id': 's' },
      { kind: 'tool', toolName: 'Bash', threadId: 's' },
    ],
    [
      'MLflow: a model',
      {
        'mlflow.spanType': 'CHAT_MODEL',
        'mlflow.llm.model': model,
        'mlflow.chat.tokenUsage': { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
        'mlflow.llm.cost': { total_cost: 0.5 },
        'mlflow.spanOutputs': { choices: [{ message: { content: 'Error: no such pod' } }] },
      },
      { kind: 'llm', model, inputTokens: 20, outputTokens: 10, cost: 0.5, semanticPattern: 'error:' },
    ],
    [
      'MLflow: a tool',
      {
        'mlflow.spanType': 'TOOL',
        'mlflow.spanInputs': { pod: 'a' },
        'mlflow.spanOutputs': '"Error: no such pod"',
      },
      { kind: 'tool', toolName: 'call', argumentsHash: expect.any(String), semanticPattern: 'error:' },
    ],
    [
      'Braintrust: a model',
      {
        'braintrust.span_attributes': { type: 'llm' },
        'braintrust.metadata': { model },
        'braintrust.metrics': { prompt_tokens: 20, completion_tokens: 10, prompt_cached_tokens: 5 },
        'braintrust.output_json': [
          { message: { role: 'assistant', tool_calls: [{ function: { name: 'look' } }] } },
        ],
      },
      {
        kind: 'llm',
        model,
        inputTokens: 20,
        outputTokens: 10,
        cachedTokens: 5,
        toolCalls: [{ name: 'look', hash: null }],
      },
    ],
  ])('%s', (_what, attributes, row) => expect(rowOf(attributes)).toMatchObject(row));
});

describe('attributes that are no list', () => {
  const span = (attributes: unknown) => rowOf({}, { attributes });

  it.each([
    { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 5 },
    { 'gen_ai.operation.name': { stringValue: 'chat' }, 'gen_ai.usage.input_tokens': { intValue: '5' } },
  ])('are read where they are an object: %j', (attributes) => {
    expect(span(attributes)).toMatchObject({ kind: 'llm', inputTokens: 5 });
  });

  it.each(['gen_ai.operation.name=chat', 5, true])('refuse the span where they are %j', (attributes) => {
    expect(() => span(attributes)).toThrow('its attributes must be a list of {key, value}');
  });

  it.each([null, undefined, []])('are none where they are %j', (attributes) => {
    expect(span(attributes)).toMatchObject({ kind: 'other' });
  });
});
