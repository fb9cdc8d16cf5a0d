import { filledRequest, TemplateError } from './filled-request.js';

type Json = Record<string, unknown>;

const filled = (
  request: Json,
  variables: Json = {},
  headers: Record<string, string> = {},
  parameters: Json = {},
) =>
  filledRequest({
    modified_request: request,
    model_parameters: parameters,
    headers,
    prompt_variables: variables,
  });

async function text(template: string, variables: Json = {}): Promise<unknown> {
  const { body } = await filled({ messages: [{ role: 'user', content: template }] }, variables);
  return (body['messages'] as Json[])[0]?.['content'];
}

it('fills variables into messages, tools and headers, and leaves the rest as it is', async () => {
  const request = {
    model: '{{model}}',
    messages: [
      { role: 'system', content: 'Speak {{language}}.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'From {{trip.from}} to {{trip.to}}' },
          { type: 'x', n: 1 },
        ],
      },
    ],
    tools: [{ type: 'function', function: { name: 'find', description: 'Finds {{what}}', strict: true } }],
  };
  const variables = { language: 'French', trip: { from: 'Oslo', to: 'Bonn' }, what: 'flights', team: 'a-1' };
  expect(await filled(request, variables, { 'X-Team': '{{team}}' })).toEqual({
    body: {
      model: '{{model}}',
      messages: [
        { role: 'system', content: 'Speak French.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'From Oslo to Bonn' },
            { type: 'x', n: 1 },
          ],
        },
      ],
      tools: [{ type: 'function', function: { name: 'find', description: 'Finds flights', strict: true } }],
      stream: false,
    },
    headers: { 'x-team': 'a-1' },
  });
});

it('strips what is about the experiment, streams and empty tools; parameters win', async () => {
  const { body } = await filled(
    {
      ...{ name: 'n', description: 'd', headers: { a: 'b' }, promptVariables: { a: 1 } },
      ...{
        messages: [],
        tools: [],
        stream: true,
        stream_options: { include_usage: true },
        temperature: 1,
        seed: 7,
      },
    },
    {},
    {},
    { temperature: 0.2 },
  );
  expect(body).toEqual({ messages: [], stream: false, temperature: 0.2, seed: 7 });
});

it.each([
  ['{{a}} & {{{a}}} & {{&a}}', { a: '<b>"&' }, '<b>"& & <b>"& & <b>"&'],
  ['{{a}}|{{b}}|{{c.d}}', { a: 0, b: false, c: null }, '0|false|'],
  ['{{a}} {{b}}', { a: { x: [1] }, b: ['y'] }, '{"x":[1]} ["y"]'],
  [
    '{{#items}}{{name}}: {{n}}; {{/items}}',
    { n: 1, items: [{ name: 'a' }, { name: 'b', n: 2 }] },
    'a: 1; b: 2; ',
  ],
  ['{{#tags}}<{{.}}>{{/tags}}{{^tags}}none{{/tags}}', { tags: ['a', 'b'] }, '<a><b>'],
  ['{{#tags}}<{{.}}>{{/tags}}{{^tags}}none{{/tags}}', { tags: [] }, 'none'],
  ['{{! a remark }}{{=<% %>=}}<% a %> {{a}}', { a: 1 }, '1 {{a}}'],
  ['{{missing}}{{a.b.c}}', { a: {} }, ''],
  ['{{#a}}'.repeat(32) + 'x' + '{{/a}}'.repeat(32), { a: 1 }, 'x'],
  ['no {braces} at all', {}, 'no {braces} at all'],
])('%j with %j', async (template, variables, expected) => {
  expect(await text(template, variables)).toBe(expected);
});

it.each([
  '{{constructor}}{{toString}}{{__proto__}}{{a.constructor.name}}{{l.map}}{{a.length.constructor}}',
  '{{#a.constructor.constructor}}{{.}}{{/a.constructor.constructor}}',
  '{{#constructor.constructor}}return 1{{/constructor.constructor}}',
])('finds nothing but variables: %j', async (template) => {
  expect(await text(template, { a: 'text', l: [1] })).toBe('');
});

it.each([
  ['{{#a}}', {}, /^messages\/0\/content: Unclosed section "a"/],
  ['{{a', {}, /^messages\/0\/content: Unclosed tag/],
  ['{{> other}}', {}, /there are no partials: \{\{>other\}\}/],
  ['x'.repeat(32_768) + '{{a}}', {}, /may have 32768 characters/],
  ['{{#a}}{{#a}}{{#a}}x{{/a}}{{/a}}{{/a}}', { a: Array(1_000).fill(1) }, /over 1000000 characters/],
  ['{{a}}'.repeat(1_000), { a: 'x'.repeat(10_000) }, /over 1000000 characters/],
  ['{{#a}}{{#a}}{{/a}}{{/a}}', { a: Array(2_000).fill(1) }, /over 1000000 characters/],
  [`{{#a}}{{x${'.x'.repeat(32)}}}{{/a}}`, { a: Array(15_000).fill(1) }, /a name may have 32 parts/],
  ['{{#a}}'.repeat(33) + '{{/a}}'.repeat(33), { a: 1 }, /32 deep/],
  ['{{^a}}'.repeat(2_500) + '{{/a}}'.repeat(2_500), {}, /32 deep/],
])('refuses %.40j', async (template, variables, message) => {
  const error: unknown = await text(template, variables).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(TemplateError);
  expect((error as Error).message).toMatch(message);
});

it('lets no variable break out of its header', async () => {
  const broken = filled({ messages: [] }, { a: 'x\r\nauthorization: y' }, { 'x-team': '{{a}}' });
  await expect(broken).rejects.toThrow(/^headers\/x-team: must be printable ASCII/);
});
