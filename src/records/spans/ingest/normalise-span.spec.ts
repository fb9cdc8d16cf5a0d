import { canonicalJson, sha256 } from '../../../base/common/canonical-json.js';
import type { SpanRow } from '../span-row.js';
import { AttributeLookup, type Attributes } from './attribute-lookup.js';
import type { IncomingSpan } from './incoming-span.js';
import { type IngestScope, normaliseSpan } from './normalise-span.js';

const now = Date.parse('2026-01-23T10:30:00Z');
const scope: IngestScope = { project: 'default', keyId: null, now, retentionDays: 30 };

const incoming = (name: string, attributes: Attributes, more: Partial<IncomingSpan> = {}): IncomingSpan => ({
  traceId: 'trace',
  spanId: 'span',
  parentSpanId: undefined,
  name,
  startUs: (now - 2_000) * 1_000,
  finishUs: (now - 1_000) * 1_000,
  attributes,
  ...more,
});
const row = (name: string, attributes: Attributes, more?: Partial<IncomingSpan>): SpanRow =>
  normaliseSpan(incoming(name, attributes, more), scope);

const answer = {
  role: 'assistant',
  content: 'It works.',
  tool_calls: [{ id: 'c2', function: { name: 'restart' } }],
};
const messages = [
  { role: 'system', content: 'Report every error: exactly.' },
  { role: 'user', content: 'Error: what does "failed to connect" mean?' },
  { role: 'assistant', tool_calls: [{ id: 'c0', function: { name: 'logs' } }] },
  { role: 'tool', tool_call_id: 'c0', content: 'Error: long ago' },
  { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'status' } }] },
  { role: 'tool', tool_call_id: 'c1', content: 'Error: connection refused' },
];

/** One model call as each dialect tells it. */
const dialects: Readonly<Record<string, readonly [name: string, attributes: Attributes]>> = {
  vLLora: [
    'api_invoke',
    {
      model_name: 'gpt-4o',
      usage: '{"input_tokens":1000,"output_tokens":100,"prompt_tokens_details":{"cached_tokens":400}}',
      request: JSON.stringify({ model: 'gpt-4o', messages }),
      output: JSON.stringify({ choices: [{ message: answer }] }),
      ttft: 250,
      thread_id: 't',
    },
  ],
  'OpenTelemetry GenAI': [
    'chat gpt-4o',
    {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 100,
      'gen_ai.usage.cache_read.input_tokens': 400,
      'gen_ai.response.time_to_first_chunk': 0.25,
      'gen_ai.conversation.id': 't',
      'gen_ai.input.messages': JSON.stringify([
        { role: 'user', parts: [{ type: 'text', content: 'Error: what is it?' }] },
        { role: 'assistant', parts: [{ type: 'tool_call', id: 'c0', name: 'logs', arguments: {} }] },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c0', response: 'Error: long ago' }] },
        { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'status', arguments: {} }] },
        {
          role: 'tool',
          parts: [{ type: 'tool_call_response', id: 'c1', response: 'Error: connection refused' }],
        },
      ]),
      'gen_ai.output.messages': JSON.stringify([
        {
          role: 'assistant',
          parts: [
            { type: 'text', content: 'It works.' },
            { type: 'tool_call', id: 'c2', name: 'restart' },
          ],
        },
      ]),
    },
  ],
  OpenInference: [
    'ChatCompletion',
    {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'gpt-4o',
      'llm.token_count.prompt': 1000,
      'llm.token_count.completion': 100,
      'llm.token_count.prompt_details.cache_read': 400,
      'session.id': 't',
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.content': 'Error: what is it?',
      'llm.input_messages.1.message.role': 'assistant',
      'llm.input_messages.1.message.tool_calls.0.tool_call.id': 'c1',
      'llm.input_messages.1.message.tool_calls.0.tool_call.function.name': 'status',
      'llm.input_messages.2.message.role': 'tool',
      'llm.input_messages.2.message.tool_call_id': 'c1',
      'llm.input_messages.2.message.content': 'Error: connection refused',
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.content': 'It works.',
      'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'restart',
    },
  ],
  'AI SDK': [
    'ai.generateText.doGenerate',
    {
      'ai.operationId': 'ai.generateText.doGenerate',
      'ai.model.id': 'gpt-4o',
      'ai.usage.inputTokens': 1000,
      'ai.usage.outputTokens': 100,
      'ai.usage.cachedInputTokens': 400,
      'ai.response.msToFirstChunk': 250,
      'gen_ai.usage.input_tokens': 1000,
      'ai.telemetry.metadata.threadId': 't',
      'ai.prompt.messages': JSON.stringify([
        { role: 'user', content: [{ type: 'text', text: 'Error: what is it?' }] },
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'status' }] },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c1',
              toolName: 'status',
              output: { type: 'text', value: 'Error: connection refused' },
            },
          ],
        },
      ]),
      'ai.response.text': 'It works.',
      'ai.response.toolCalls': JSON.stringify([{ toolCallId: 'c2', toolName: 'restart', input: '{}' }]),
    },
  ],
};

describe('one model call', () => {
  it.each(Object.entries(dialects))(
    'has the same figures in the words of %s',
    (dialect, [name, attributes]) => {
      expect(row(name, attributes)).toMatchObject({
        kind: 'llm',
        callPart: dialect === 'vLLora' ? 'outer' : 'whole',
        model: 'gpt-4o',
        requestModel: 'gpt-4o',
        inputTokens: 1000,
        outputTokens: 100,
        cachedTokens: 400,
        cost: 0.003,
        costSource: 'computed',
        ttftUs: dialect === 'OpenInference' ? null : 250_000,
        threadId: 't',
        toolCalls: [{ name: 'restart', hash: null }],
        toolErrors: [{ tool_name: 'status', tool_call_id: 'c1', message: 'Error: connection refused' }],
        semanticSource: 'input',
        semanticSeverity: 'high',
        semanticSnippet: expect.stringContaining('connection refused'),
      });
    },
  );

  it('is told by the inner span of a pair in tokens alone', () => {
    const [, attributes] = dialects['vLLora'] ?? [];
    expect(row('model_call', { ...attributes, cost: 5 })).toMatchObject({
      kind: 'llm',
      callPart: 'inner',
      inputTokens: 1000,
      cost: null,
      costSource: null,
      toolCalls: null,
      semanticPattern: null,
    });
  });

  it('is no call where a wrapper repeats it', () => {
    for (const operation of ['ai.generateText', 'ai.streamObject'])
      expect(row(operation, { 'ai.operationId': operation, 'ai.usage.inputTokens': 5 })).toMatchObject({
        kind: 'chain',
        callPart: null,
      });
    const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.input_tokens': 5 };
    expect(row('invoke_agent x', agent)).toMatchObject({ kind: 'agent', callPart: null, inputTokens: 5 });
  });

  it('in other forms gives its tool calls and messages as well', () => {
    const responses = {
      'gen_ai.operation.name': 'chat',
      request: JSON.stringify({
        input: [
          { role: 'user', content: 'hi' },
          { type: 'function_call', call_id: 'c1', name: 'status' },
          { type: 'function_call', call_id: 'c2', name: 'logs' },
          { type: 'function_call_output', call_id: 'c1', output: 'fine' },
          { type: 'function_call_output', call_id: 'c2', output: '{"error": "unknown tool: logs"}' },
        ],
      }),
      output: JSON.stringify({
        output: [
          { type: 'function_call', name: 'restart' },
          { type: 'message', content: [{ type: 'output_text', text: 'ok' }] },
        ],
      }),
    };
    expect(row('chat', responses)).toMatchObject({
      toolCalls: [{ name: 'restart', hash: null }],
      toolErrors: [{ tool_name: 'logs', tool_call_id: 'c2' }],
    });
    const anthropic = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.input.messages': [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'u1', name: 'status' }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'u1',
              content: [{ type: 'text', text: 'Error: no such pod' }],
            },
          ],
        },
      ],
      'gen_ai.output.messages': [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'u2', name: 'restart' }] },
      ],
    };
    expect(row('chat', anthropic)).toMatchObject({
      toolCalls: [{ name: 'restart', hash: null }],
      toolErrors: [{ tool_name: 'status', message: 'Error: no such pod' }],
    });
    expect(
      row('chat', {
        'llm.request.type': 'chat',
        'gen_ai.completion.0.content': 'x',
        'gen_ai.completion.0.tool_calls.0.name': 'restart',
      }),
    ).toMatchObject({
      kind: 'llm',
      toolCalls: [{ name: 'restart', hash: null }],
    });
  });
});

describe('the cost of a call', () => {
  const cost = (attributes: Attributes) => {
    const { cost: dollars, costSource } = row('api_invoke', {
      model: 'gpt-4o',
      usage: { input_tokens: 1_000_000 },
      ...attributes,
    });
    return [dollars, costSource];
  };
  it.each([
    ['a number', 0.5],
    ['a numeric text', '0.5'],
    ['a text in dollars', '$0.5'],
    ['JSON with a cost', '{"cost": 0.5, "currency": "USD"}'],
  ])('is what was reported, as %s', (_form, given) =>
    expect(cost({ cost: given })).toEqual([0.5, 'reported']),
  );

  it.each([null, '', 'free', -1, 'NaN', '{"cost": null}'])('is computed where %j was reported', (given) => {
    expect(cost({ cost: given })).toEqual([2.5, 'computed']);
  });
});

describe('where a span belongs', () => {
  it.each([
    [{ thread_id: 'own', 'gen_ai.conversation.id': 'c', 'session.id': 's' }, 'own'],
    [{ 'gen_ai.conversation.id': 'c', 'session.id': 's' }, 'c'],
    [{ 'session.id': 's' }, 's'],
    [{}, null],
  ])('by %j its thread is %j', (attributes, threadId) =>
    expect(row('x', attributes).threadId).toBe(threadId),
  );

  it('its run is the one that is named, else its trace', () => {
    expect(row('x', { run_id: 'r' }).runId).toBe('r');
    expect(row('x', {}).runId).toBe('trace');
    expect(row('x', {}, { runId: 'top' }).runId).toBe('top');
  });

  it('what its resource says stands in for what it does not say itself', () => {
    const fallback = new AttributeLookup({ 'toolkeeper.thread_id': 'of resource', label: 'l' });
    expect(row('x', {}, { fallback })).toMatchObject({ threadId: 'of resource', label: 'l' });
  });
});

describe('an error', () => {
  it.each(['', false, null, 'false', 'null'])('of %j is none', (error) => {
    expect(row('x', { error })).toMatchObject({ status: 'success', errorMessage: null });
  });

  it.each<[string, Attributes, Partial<IncomingSpan>, string | null]>([
    ['an attribute', { error: 'broken' }, {}, 'broken'],
    ['an attribute that is an object', { error: { message: 'broken' } }, {}, 'broken'],
    ['OTLP status 2', {}, { status: 'error' }, null],
    ['OTLP status 2 with a message', {}, { status: 'error', failure: 'broken' }, 'broken'],
    [
      'an exception',
      {},
      { status: 'error', fallback: new AttributeLookup({ 'exception.message': 'broken' }) },
      'broken',
    ],
    ['an HTTP status', { status_code: 503, 'error.type': 'unavailable' }, {}, 'unavailable'],
    ['the word', { status: 'error' }, {}, null],
  ])('is told by %s', (_how, attributes, more, errorMessage) => {
    expect(row('x', attributes, more)).toMatchObject({ status: 'error', errorMessage });
  });
});

it('of an event alone is none of the span', () => {
  const fallback = new AttributeLookup({
    error: 'tried again',
    status_code: 503,
    'exception.message': 'tried again',
  });
  expect(row('x', {}, { fallback })).toMatchObject({ status: 'success', errorMessage: null });
});

describe('a tool call', () => {
  it('has the hash that an execution has for equal arguments, and none without any', () => {
    const hash = (given: unknown) => row('tool_call', { tool_name: 't', arguments: given }).argumentsHash;
    expect(hash('{"b": 1, "a": [2]}')).toBe(sha256(canonicalJson({ a: [2], b: 1 })));
    expect(hash({ a: [2], b: 1 })).toBe(hash('{"b":1,"a":[2]}'));
    for (const none of ['{}', {}, '', null, '[]']) expect(hash(none)).toBeNull();
  });

  it('is searched in its own result alone', () => {
    const found = row('tool_call', {
      tool_name: 't',
      arguments: '{"q": "Error: x"}',
      result: 'Error: disk full',
    });
    expect(found).toMatchObject({ kind: 'tool', toolName: 't', semanticSource: 'output', status: 'success' });
    expect(row('tool_call', { arguments: 'Error: x', result: 'fine' }).semanticPattern).toBeNull();
  });

  it('of our own analysis is not searched', () => {
    expect(row('tool_call', { label: 'analyze_with_llm', result: 'Error: x' }).semanticPattern).toBeNull();
  });

  it('keeps the execution that it names, where that is an id', () => {
    const id = '0199B2C4-6b1e-7a5d-8d0f-3f6f2f0c9a11';
    expect(row('tool_call', { 'toolkeeper.execution_id': id }).executionId).toBe(id.toLowerCase());
    expect(row('tool_call', { 'toolkeeper.execution_id': 'x' }).executionId).toBeNull();
  });
});

describe('a span that is not kept', () => {
  const us = now * 1_000;
  it.each<[string, Partial<IncomingSpan>]>([
    ['its trace id', { traceId: '' }],
    ['its span id', { spanId: 'x'.repeat(65) }],
    ['its start or end', { startUs: NaN }],
    ['an hour in the future', { startUs: us + 3_600_000_001, finishUs: us + 3_600_000_001 }],
    ['30 days ago', { startUs: us - 31 * 86_400_000_000 }],
  ])('is told %s', (why, more) => expect(() => row('x', {}, more)).toThrow(why));
});

describe('attributes', () => {
  it('that are JSON in text, deeper than can be walked, cost the span nothing', () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    const given = { 'gen_ai.operation.name': 'chat', request: deep, output: deep, error: deep, usage: deep };
    expect(row('chat', given)).toMatchObject({ status: 'error', errorMessage: null, kind: 'llm' });
    expect(row('tool_call', { arguments: deep, result: deep })).toMatchObject({ argumentsHash: null });
  });

  it('beyond a megabyte are left out, and the rest is kept', () => {
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`a${n}`, '"'.repeat(100_000)]));
    const { attributes } = row('x', { ...many, last: 1 });
    expect(attributes.length).toBeLessThan(1_100_000);
    expect(JSON.parse(attributes)).toMatchObject({
      last: 1,
      'toolkeeper.cut': '4 attributes more than a span may have',
    });
  });
});
