import { normaliseSpan } from '../../records/spans/ingest/normalise-span.js';
import type { SpanView } from '../../records/spans/reads/trace-views.dto.js';
import { requestOf, resultOf } from './span-call.js';

/** A span of these attributes as it is read from the store. */
function spanOf(attributes: Record<string, unknown>, name = 'chat'): SpanView {
  const startUs = Date.now() * 1_000;
  const row = normaliseSpan(
    {
      traceId: 't',
      spanId: 's',
      parentSpanId: undefined,
      name,
      startUs,
      finishUs: startUs + 1_500_000,
      attributes,
    },
    { project: 'default', keyId: null, now: Date.now(), retentionDays: 30 },
  );
  return {
    ...{
      operation_name: row.operation,
      kind: row.kind,
      model: row.model,
      cost: row.cost,
      duration_ms: 1_500,
    },
    ...{ input_tokens: row.inputTokens, output_tokens: row.outputTokens },
    attribute: JSON.parse(row.attributes) as Record<string, unknown>,
  } as SpanView;
}

const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Is it up?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'status', arguments: '{"host":"a"}' } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'It is down.' },
];

const schema = { type: 'object', properties: { host: { type: 'string' } } };
const definition = { name: 'status', description: 'Whether a host is up' };
const tools = [{ type: 'function', function: { ...definition, parameters: schema } }];

const dialects: Readonly<Record<string, Record<string, unknown>>> = {
  vLLora: {
    model_name: 'm-1',
    request: JSON.stringify({ model: 'm-1', messages, tools }),
    output: JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'No.' } }] }),
    usage: { input_tokens: 40, output_tokens: 2 },
  },
  OpenTelemetry: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm-1',
    'gen_ai.input.messages': JSON.stringify([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      { role: 'user', parts: [{ type: 'text', content: 'Is it up?' }] },
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'c1', name: 'status', arguments: { host: 'a' } }],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'It is down.' }] },
    ]),
    'gen_ai.output.messages': JSON.stringify([
      { role: 'assistant', parts: [{ type: 'text', content: 'No.' }] },
    ]),
    'gen_ai.tool.definitions': JSON.stringify([{ type: 'function', ...definition, parameters: schema }]),
    'gen_ai.usage.input_tokens': 40,
    'gen_ai.usage.output_tokens': 2,
  },
  OpenInference: {
    'openinference.span.kind': 'LLM',
    'llm.model_name': 'm-1',
    'llm.input_messages.0.message.role': 'system',
    'llm.input_messages.0.message.content': 'Be brief.',
    'llm.input_messages.1.message.role': 'user',
    'llm.input_messages.1.message.contents.0.message_content.type': 'text',
    'llm.input_messages.1.message.contents.0.message_content.text': 'Is it up?',
    'llm.input_messages.2.message.role': 'assistant',
    'llm.input_messages.2.message.tool_calls.0.tool_call.id': 'c1',
    'llm.input_messages.2.message.tool_calls.0.tool_call.function.name': 'status',
    'llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments': '{"host":"a"}',
    'llm.input_messages.3.message.role': 'tool',
    'llm.input_messages.3.message.tool_call_id': 'c1',
    'llm.input_messages.3.message.content': 'It is down.',
    'llm.output_messages.0.message.role': 'assistant',
    'llm.output_messages.0.message.content': 'No.',
    'llm.tools.0.tool.json_schema': JSON.stringify(tools[0]),
    'llm.token_count.prompt': 40,
    'llm.token_count.completion': 2,
  },
  'AI SDK': {
    'ai.operationId': 'ai.generateText.doGenerate',
    'ai.model.id': 'm-1',
    'ai.prompt.messages': JSON.stringify([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Is it up?' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'status', input: { host: 'a' } }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c1',
            toolName: 'status',
            output: { type: 'text', value: 'It is down.' },
          },
        ],
      },
    ]),
    'ai.prompt.tools': [JSON.stringify({ type: 'function', ...definition, inputSchema: schema })],
    'ai.response.text': 'No.',
    'ai.usage.inputTokens': 40,
    'ai.usage.outputTokens': 2,
  },
};

it.each(Object.entries(dialects))(
  'one request and its answer are read the same in %s',
  (dialect, attributes) => {
    const span = spanOf(attributes, dialect === 'vLLora' ? 'api_invoke' : 'chat');
    expect(requestOf(span)).toEqual({ model: 'm-1', messages, tools });
    expect(resultOf(span)).toEqual({
      output: 'No.',
      model: 'm-1',
      cost: null,
      usage: { input_tokens: 40, output_tokens: 2 },
      duration_ms: 1_500,
    });
  },
);

it('takes a whole request with all that it asks for, parameters where they stand alone, and pictures', () => {
  const whole = { messages: [{ role: 'user', content: 'Hi' }], tools: [{ type: 'function' }], seed: 7 };
  expect(requestOf(spanOf({ request: whole }))).toEqual(whole);
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
  const parts = [{ type: 'text', text: 'What is it?' }, picture];
  const otel = {
    'gen_ai.input.messages': [{ role: 'user', content: parts }],
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.max_tokens': 9,
  };
  expect(requestOf(spanOf(otel))).toEqual({
    temperature: 0.5,
    max_tokens: 9,
    messages: [{ role: 'user', content: parts }],
  });
});

it.each<[string, Record<string, unknown>]>([
  ['has none', {}],
  ['was cut', { request: { messages: [{ role: 'user', content: 'x'.repeat(300_000) }] } }],
  ['is a text alone', { 'gen_ai.prompt': 'Hi' }],
  ['has messages without a role', { request: { messages: [{ content: 'Hi' }] } }],
])('finds no request in a span that %s', (_, attributes) => {
  expect(requestOf(spanOf(attributes))).toBeUndefined();
});
