import { draftOf, type RequestDraft, dataOf, variablesIn } from './request-draft.js';

// real: the draft of a request; mock: nothing

const call = { role: 'assistant', content: null, tool_calls: [{ id: 'c1' }] };
const request = {
  model: 'gpt-4.1',
  temperature: 1,
  messages: [{ role: 'user', content: 'Which {{thing}}?' }, call],
  tools: [{ type: 'function', function: { name: 'find', parameters: { b: 1, a: 2 } } }],
};
const variables = { thing: 'flight', list: [1, 2], no: false, year: '2026' };
const data = {
  ...{ ...request, name: 'A cheaper model' },
  ...{ headers: { 'x-team': 'search: a' }, promptVariables: variables },
};
const draft = draftOf(data);

describe('the draft of a request', () => {
  it('has texts of messages, JSON of others, and the other members as parameters', () => {
    expect(draft.model).toBe('gpt-4.1');
    expect(draft.messages).toEqual([
      { role: 'user', text: 'Which {{thing}}?' },
      { json: JSON.stringify(call, null, 2) },
    ]);
    expect(JSON.parse(draft.parameters)).toEqual({ temperature: 1, tools: request.tools });
    expect(draft.variables).toEqual({ thing: 'flight', list: '[\n  1,\n  2\n]', no: 'false', year: '2026' });
  });

  it('becomes data with the same meaning', () => {
    expect(dataOf(draft)).toEqual({ ...data, promptVariables: { ...variables, year: 2026 } });
  });

  it.each<[string, Partial<RequestDraft>]>([
    ['parameters that are no JSON', { parameters: '{' }],
    ['parameters that are no object', { parameters: '[]' }],
    ['a message that is no JSON', { messages: [{ json: '{' }] }],
    ['no message', { messages: [] }],
    ['a header without a value', { headers: 'x-team' }],
  ])('cannot be sent with %s', (_, changes) => {
    expect(dataOf({ ...draft, ...changes })).toBeUndefined();
  });

  it('keeps a text that only looks like JSON, and digits that JavaScript would round', () => {
    const sent = dataOf({
      ...draft,
      variables: { a: '"x"', b: '[draft]', c: '{"n": 9007199254740993}' },
    });
    expect(JSON.stringify(sent?.['promptVariables'])).toBe(
      '{"a":"\\"x\\"","b":"[draft]","c":{"n":9007199254740993}}',
    );
  });
});

it.each<[string, string[]]>([
  ['Which {{thing}} or {{{ other }}} or {{&third}}?', ['thing', 'other', 'third']],
  ['{{user.name}} and {{user.mail}}', ['user']],
  ['{{#items}}{{name}}{{/items}}{{^items}}{{none}}{{/items}} {{last}}', ['items', 'last']],
  ['{{! a note }} {{.}} {{>partial}} no {tag}', []],
])('%s needs %p', (text, names) => {
  expect(variablesIn({ ...draft, messages: [{ role: 'user', text }] })).toEqual(names);
});
