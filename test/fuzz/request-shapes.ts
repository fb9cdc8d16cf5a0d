import type { Random } from '../chaos/random.js';
import type { Json } from '../support/json.js';

/** A request that carries a value to a place where a caller's value may go. */
export interface RequestCase {
  readonly what: string;
  readonly send: Request;
}

export type Request = readonly [method: string, path: string, body: () => Json];

type Shape = (bytes: number) => unknown;

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: Math.max(1, Math.floor(count)) }, (_, n) => make(n));
const named = (count: number, make: (n: number) => unknown): Json =>
  Object.fromEntries(times(count, (n) => [`name${n}`, make(n)]));

function nested<T>(levels: number, inner: T, wrap: (inner: T) => T): T {
  let value = inner;
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}

/** JSON values of about so many bytes that may cost more than they look like. */
export const shapes: Readonly<Record<string, Shape>> = {
  'names of one object': (bytes) => named(bytes / 12, (n) => n % 10),
  'names of rows': (bytes) => times(bytes / 17, (n) => ({ [`name${n}`]: 0 })),
  'the same names in rows': (bytes) => times(bytes / 26, (n) => ({ id: n, ok: true, x: null })),
  'names below names': (bytes) =>
    nested<unknown>(
      50,
      named(bytes / 13, () => ({})),
      (a) => ({ a }),
    ),
  'objects 900 deep': (bytes) => nested<unknown>(Math.min(bytes / 6, 900), 'x'.repeat(bytes), (a) => ({ a })),
  'lists 60 deep': (bytes) => times(bytes / 125, () => nested<unknown>(60, 0, (inner) => [inner])),
  'lists 3,000 deep': (bytes) => times(bytes / 6_000, () => nested<unknown>(3_000, 0, (inner) => [inner])),
  'empty lists': (bytes) => times(bytes / 3, () => []),
  'empty objects': (bytes) => times(bytes / 3, () => ({})),
  digits: (bytes) => times(bytes / 2, (n) => n % 10),
  'long numbers': (bytes) => times(bytes / 19, (n) => 1 / (n + 3)),
  'one text': (bytes) => 'a word and '.repeat(bytes / 11),
  'a text of one word': (bytes) => 'abbabaab'.repeat(bytes / 8),
  'a text of escapes': (bytes) => '\n\u0001"\\'.repeat(bytes / 12),
  'a text of three alphabets': (bytes) => '日本語 тест \u{1f600}'.repeat(bytes / 24),
  'many texts': (bytes) => times(bytes / 9, (n) => `text${n % 1_000}`),
  'dates and addresses': (bytes) => times(bytes / 44, (n) => `2026-01-15T09:30:00Z http://a.example/${n}`),
  'words of failures': (bytes) => times(bytes / 40, (n) => ({ error: 'failed: timeout', status: n })),
};

const execute = (tool: string): string => `tools/${tool}/execute`;
const asks = (content: string): Json => ({ model: 'm', messages: [{ role: 'user', content }] });
const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const places: Readonly<Record<string, (value: () => unknown) => Request>> = {
  'an input': (value) => ['POST', execute('fuzz_echo'), () => ({ input: { value: value() } })],
  'an input with a schema': (value) => [
    'POST',
    execute('fuzz_strict'),
    () => ({ input: { value: value() } }),
  ],
  'the context of a call': (value) => [
    'POST',
    execute('fuzz_echo'),
    () => ({ input: {}, context: { metadata: { value: value() } } }),
  ],
  "a model's arguments": (value) => [
    'POST',
    'tool-calls?format=openai',
    () => ({
      tool_calls: [
        {
          id: '1',
          type: 'function',
          function: { name: 'fuzz_echo', arguments: JSON.stringify({ value: value() }) },
        },
      ],
    }),
  ],
  'metadata of a tool': (value) => [
    'PATCH',
    'custom-tools/fuzz_other',
    () => ({ metadata: { value: value() } }),
  ],
  'an example in a schema': (value) => [
    'PATCH',
    'custom-tools/fuzz_other',
    () => ({ inputSchema: { type: 'object', examples: [value()] } }),
  ],
  'variables of an experiment': (value) => [
    'PATCH',
    'experiments/EXPERIMENT',
    () => ({ modified_request: asks('{{value}}'), prompt_variables: { value: value() } }),
  ],
  'a query for playbooks': (value) => [
    'POST',
    execute('get_playbooks'),
    () => ({ input: { query: textOf(value()).slice(0, 4_096) }, context: { metadata: { alert: value() } } }),
  ],
  'playbooks to import': (value) => ['POST', 'playbooks/import', () => ({ playbooks: value() })],
};

/** Templates, and what fills them. */
export const templates: Readonly<
  Record<string, (bytes: number) => { template: string; variables: { a?: unknown } }>
> = {
  'a path for each member': (bytes) => ({
    template: `{{#a}}{{${times(bytes / 2, () => 'x').join('.')}}}{{/a}}`,
    variables: { a: times(bytes / 2, () => 0) },
  }),
  'a short path for each member': (bytes) => ({
    template: `{{#a}}${`{{${times(30, () => 'x').join('.')}}}`.repeat(bytes / 64)}{{/a}}`,
    variables: { a: times(bytes / 2, () => 0) },
  }),
  'sections in sections': (bytes) => ({
    template: nested(30, 'x', (inner) => `{{#a}}${inner}{{/a}}`),
    variables: { a: times(bytes / 2, () => 0) },
  }),
  'a long value': (bytes) => ({ template: '{{a}}'.repeat(bytes / 5), variables: { a: 'x'.repeat(bytes) } }),
  'sections that stay open': (bytes) => ({ template: '{{#a}}'.repeat(bytes / 6), variables: {} }),
  'delimiters that change': (bytes) => ({
    template: '{{=<% %>=}}<%={{ }}=%>'.repeat(bytes / 22),
    variables: {},
  }),
};

const sizes = [1_000, 30_000, 300_000, 1_000_000, 3_600_000];
const resultSizes = [1_000, 100_000, 1_000_000, 3_600_000];

/** The text of a result that tools answer with, in files: the tool must not take the time to make it. */
export const results = Object.keys(shapes).flatMap((shape) =>
  resultSizes.map((bytes) => ({
    file: `${shape.replaceAll(/\W/g, '-')}-${bytes}.json`,
    what: `a result: ${shape}, ${bytes} bytes`,
    text: () => JSON.stringify({ value: shapes[shape]?.(bytes) }),
  })),
);

/** Each shape in each place and as a result, and each template, at each size; then random mixtures of the shapes. */
export function requestCases(random: Random, count: number): RequestCase[] {
  const cases: RequestCase[] = results.map(({ what, file }) => ({
    what,
    send: ['POST', execute('fuzz_result'), () => ({ input: { file } })],
  }));
  for (const [place, request] of Object.entries(places))
    for (const [shape, make] of Object.entries(shapes))
      for (const bytes of sizes)
        cases.push({ what: `${place}: ${shape}, ${bytes} bytes`, send: request(() => make(bytes)) });
  for (const [name, make] of Object.entries(templates))
    for (const bytes of [1_000, 10_000, 30_000, 100_000]) {
      const body = () => {
        const { template, variables } = make(bytes);
        return { modified_request: asks(template), prompt_variables: variables };
      };
      cases.push({
        what: `a template: ${name}, ${bytes} bytes`,
        send: ['PATCH', 'experiments/EXPERIMENT?run', body],
      });
    }
  while (cases.length < count) {
    const bytes = Math.floor(1_000 ** (1 + random.next()));
    const parts = times(random.between(2, 6), () => random.of(Object.keys(shapes)));
    const mixed = () =>
      Object.fromEntries(parts.map((part, n) => [`part${n}`, shapes[part]?.(bytes / parts.length)]));
    const place = random.of(Object.keys(places));
    cases.push({
      what: `${place}: ${parts.join(' + ')}, ${bytes} bytes`,
      send: (places[place] as (value: () => unknown) => Request)(mixed),
    });
  }
  return cases;
}
