import type { SpanKind } from '../span-row.js';
import { eventLookup } from './span-events.js';
import { messagesOf } from './span-messages.js';
import { spanContentsOf, textsOf } from './span-texts.js';

type Event = readonly [name: string, attributes: object];
const stored = (events: readonly Event[]) =>
  events.map(([name, attributes]) => ({ name, time_us: 0, attributes }));
const call = { id: 'c', type: 'function', function: { name: 'look', arguments: '{"at":"a"}' } };
const json = (value: unknown): string => JSON.stringify(value);

/** A conversation with a tool, as events of each convention. */
const conventions: [string, readonly Event[]][] = [
  [
    'of 2024: a message each, lists as JSON in text',
    [
      ['gen_ai.system.message', { content: 'Be kind.' }],
      ['gen_ai.user.message', { content: 'Look.' }],
      ['gen_ai.assistant.message', { role: 'assistant', tool_calls: json([call]) }],
      ['gen_ai.tool.message', { role: 'tool', id: 'c', content: 'Error: no such pod' }],
      [
        'gen_ai.choice',
        { index: 0, finish_reason: 'stop', message: json({ role: 'assistant', content: 'It failed.' }) },
      ],
    ],
  ],
  [
    'of 2024 with the content in one attribute',
    [
      ['gen_ai.system.message', { 'gen_ai.event.content': json({ role: 'system', content: 'Be kind.' }) }],
      ['gen_ai.user.message', { 'gen_ai.event.content': json({ role: 'user', content: 'Look.' }) }],
      [
        'gen_ai.assistant.message',
        { 'gen_ai.event.content': json({ role: 'assistant', tool_calls: [call] }) },
      ],
      ['gen_ai.tool.message', { 'gen_ai.event.content': json({ id: 'c', content: 'Error: no such pod' }) }],
      ['gen_ai.choice', { 'gen_ai.event.content': json({ index: 0, message: { content: 'It failed.' } }) }],
    ],
  ],
  [
    'of early 2024: the prompt and the completion',
    [
      [
        'gen_ai.content.prompt',
        {
          'gen_ai.prompt': json([
            { role: 'system', content: 'Be kind.' },
            { role: 'user', content: 'Look.' },
            { role: 'assistant', tool_calls: [call] },
            { role: 'tool', tool_call_id: 'c', content: 'Error: no such pod' },
          ]),
        },
      ],
      [
        'gen_ai.content.completion',
        { 'gen_ai.completion': json([{ role: 'assistant', content: 'It failed.' }]) },
      ],
    ],
  ],
  [
    'of today: one event with all of it',
    [
      [
        'gen_ai.client.inference.operation.details',
        {
          'gen_ai.system_instructions': json([{ type: 'text', content: 'Be kind.' }]),
          'gen_ai.input.messages': json([
            { role: 'user', parts: [{ type: 'text', content: 'Look.' }] },
            {
              role: 'assistant',
              parts: [{ type: 'tool_call', id: 'c', name: 'look', arguments: { at: 'a' } }],
            },
            {
              role: 'tool',
              parts: [{ type: 'tool_call_response', id: 'c', response: 'Error: no such pod' }],
            },
          ]),
          'gen_ai.output.messages': json([
            { role: 'assistant', parts: [{ type: 'text', content: 'It failed.' }] },
          ]),
        },
      ],
    ],
  ],
  [
    'of Strands: parts as Bedrock has them',
    [
      ['gen_ai.system.message', { content: json([{ text: 'Be kind.' }]) }],
      ['gen_ai.user.message', { content: json([{ text: 'Look.' }]) }],
      [
        'gen_ai.assistant.message',
        { content: json([{ toolUse: { toolUseId: 'c', name: 'look', input: { at: 'a' } } }]) },
      ],
      [
        'gen_ai.tool.message',
        { content: json([{ toolResult: { toolUseId: 'c', content: [{ text: 'Error: no such pod' }] } }]) },
      ],
      ['gen_ai.choice', { message: json([{ text: 'It failed.' }]), finish_reason: 'end_turn' }],
    ],
  ],
];
const lines = [
  'system: Be kind.',
  'user: Look.',
  'assistant: look({"at":"a"}) = Error: no such pod',
  'assistant: It failed.',
];

const linesOf = (kind: string, attribute: Record<string, unknown>): string[] =>
  messagesOf(kind, spanContentsOf({ kind, attribute })).map(({ role, text, calls }) => {
    const [called] = calls;
    return `${role}: ${called ? `${called.name}(${called.input.replaceAll(/\s/g, '')}) = ${called.result}` : text}`;
  });
const textsIn = (kind: SpanKind, events: unknown) => {
  const lookup = eventLookup(events);
  if (!lookup) throw new Error('No events');
  return textsOf(kind, lookup);
};

describe('events of a model call', () => {
  it.each(conventions)('%s', (_, events) => {
    expect(linesOf('llm', { events: stored(events) })).toEqual(lines);
    expect(textsIn('llm', stored(events))).toMatchObject({
      outputs: ['It failed.'],
      toolMessages: [{ toolName: 'look', toolCallId: 'c', text: 'Error: no such pod' }],
    });
  });

  it('may stand as JSON in an attribute, as Pydantic AI wrote them', () => {
    const [[, events] = ['', []]] = conventions;
    const flat = json(events.map(([name, body]) => ({ 'event.name': name, ...body })));
    expect(linesOf('llm', { events: flat })).toEqual(lines);
  });

  it('give way to attributes', () => {
    const [[, events] = ['', []]] = conventions;
    const said = { 'gen_ai.input.messages': [{ role: 'user', content: 'Own.' }] };
    expect(linesOf('llm', { events: stored(events), ...said })[0]).toBe('user: Own.');
  });

  it.each([
    undefined,
    null,
    '',
    '[',
    [],
    [null],
    ['x'],
    [{}],
    [{ name: 'gen_ai.choice' }],
    [{ name: 5 }],
    {},
    '{}',
  ])('that are none say nothing: %j', (events) =>
    expect(linesOf('llm', { events }).filter((line) => line !== 'assistant: ')).toEqual([]),
  );
});

it('events of a tool hold its arguments and its result', () => {
  const events = stored([
    ['gen_ai.tool.message', { role: 'tool', id: 'c', content: '{"path":"/"}' }],
    ['gen_ai.choice', { id: 'c', message: '[{"text":"97 % used"}]' }],
  ]);
  expect(spanContentsOf({ kind: 'tool', attribute: { events } })).toEqual({
    input: '{"path":"/"}',
    output: '[{"text":"97 % used"}]',
  });
  expect(textsIn('tool', events).outputs).toEqual(['97 % used']);
});

describe('instructions', () => {
  const user = { role: 'user', content: 'Look.' };
  const system = { role: 'system', content: 'Be kind.' };
  it.each<[string, Record<string, unknown>, string[]]>([
    [
      'beside messages',
      { 'gen_ai.system_instructions': 'Be kind.', 'gen_ai.input.messages': [user] },
      lines.slice(0, 2),
    ],
    [
      'alone',
      { 'gen_ai.system_instructions': json([{ type: 'text', content: 'Be kind.' }]) },
      lines.slice(0, 1),
    ],
    [
      'twice',
      { 'gen_ai.system_instructions': 'Other', 'gen_ai.input.messages': [system, user] },
      lines.slice(0, 2),
    ],
    ['of a request', { request: { instructions: 'Be kind.', input: 'Look.' } }, lines.slice(0, 2)],
    [
      'of Gemini',
      {
        'gcp.vertex.agent.llm_request': {
          config: { system_instruction: 'Be kind.' },
          contents: [{ role: 'user', parts: [{ text: 'Look.' }] }],
        },
      },
      lines.slice(0, 2),
    ],
    ['nowhere', { 'gen_ai.input.messages': [user] }, lines.slice(1, 2)],
  ])('%s', (_, attribute, expected) => expect(linesOf('llm', attribute)).toEqual(expected));
});
