import { expect, it } from '@jest/globals';
import { messagesOf } from './span-messages.js';
import { spanContentsOf } from './span-texts.js';

const call = { id: 'call-1', type: 'function', function: { name: 'search', arguments: '{"q":"a"}' } };

it.each([
  [
    'OpenAI',
    [
      { role: 'user', content: 'Find a.' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call-1', content: 'found' },
    ],
    { choices: [{ message: { role: 'assistant', content: 'Here is a.' } }] },
  ],
  [
    'Anthropic',
    [
      { role: 'user', content: [{ type: 'text', text: 'Find a.' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'call-1', name: 'search', input: '{"q":"a"}' }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call-1', content: 'found' }] },
    ],
    [{ role: 'assistant', content: 'Here is a.' }],
  ],
  [
    'OpenTelemetry',
    [
      { role: 'user', parts: [{ type: 'text', content: 'Find a.' }] },
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'call-1', name: 'search', arguments: '{"q":"a"}' }],
      },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call-1', response: 'found' }] },
    ],
    [{ role: 'assistant', parts: [{ type: 'text', content: 'Here is a.' }] }],
  ],
])('reads a conversation of %s, with results at their calls', (_, input, output) => {
  const messages = messagesOf('llm', { input: JSON.stringify(input), output: JSON.stringify(output) });
  expect(messages.map(({ role, text }) => [role, text])).toEqual([
    ['user', 'Find a.'],
    ['assistant', ''],
    ['assistant', 'Here is a.'],
  ]);
  expect(messages[1]?.calls).toEqual([{ id: 'call-1', name: 'search', input: '{"q":"a"}', result: 'found' }]);
});

it("keeps the last 4,096 messages, also of LangChain's list in a list", () => {
  const messages = Array.from({ length: 5_000 }, (_, at) => ({ role: 'user', content: `${at}` }));
  for (const input of [messages, [messages]]) {
    const kept = messagesOf('llm', { input: JSON.stringify(input) });
    expect([kept.length, kept[0]?.text, kept.at(-1)?.text]).toEqual([4_096, '904', '4999']);
  }
});

it('takes a plain text for one message', () => {
  const messages = messagesOf('llm', { input: 'Hello', output: '{"broken' });
  expect(messages.map(({ role, text }) => [role, text])).toEqual([
    ['user', 'Hello'],
    ['assistant', '{"broken'],
  ]);
  expect(messagesOf('llm', {})).toEqual([]);
});

it('names the call that a result answers if the messages do not have it', () => {
  const input = JSON.stringify([{ role: 'tool', tool_call_id: 'call-9', content: 'found' }]);
  expect(messagesOf('llm', { input })).toEqual([
    { role: 'tool', text: 'found', calls: [], answers: 'call-9' },
  ]);
});

it('shows the call of a tool with its result, and nothing for other spans', () => {
  const calls = [{ id: null, name: '', input: '{}', result: 'found' }];
  expect(messagesOf('tool', { input: '{}', output: 'found' })).toMatchObject([{ role: 'tool', calls }]);
  expect(messagesOf('chain', { input: 'Hello' })).toEqual([]);
});

it('shows an empty result at its call', () => {
  const input = JSON.stringify([
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call-1', content: '' },
  ]);
  expect(messagesOf('llm', { input })).toEqual([
    { role: 'assistant', text: '', answers: null, calls: [expect.objectContaining({ result: '' })] },
  ]);
});

describe('values that are nested deep', () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  const note = '(JSON of more than 1000 levels)';

  it('are a note in the texts of a span', () => {
    const attribute = {
      'gen_ai.tool.call.arguments': nested(50_000),
      'gen_ai.tool.call.result': nested(50_000),
    };
    expect(spanContentsOf({ kind: 'tool', attribute })).toEqual({ input: note, output: note });
  });

  it.each([
    [50_000, note],
    [900, nested(900)],
    [2, '[\n  []\n]'],
  ])('are a note or one line as arguments of a call (%i levels)', (levels, shown) => {
    const input = `[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a","arguments":${nested(levels)}}}]}]`;
    expect(messagesOf('llm', { input })[0]?.calls).toMatchObject([{ input: shown }]);
  });
});
