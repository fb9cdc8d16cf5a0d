import { until } from '../support/wait.js';
import { type FieldProblem, Problem, type Refusal } from '../../src/base/common/errors.js';
import { InputSchemas } from '../../src/base/schemas/input-validator.js';

const schemas = new InputSchemas();

/** On a busy machine the threads may take longer to start than a caller would wait for them. */
beforeAll(() =>
  until(async () => (await schemas.compile({}))({}, 10_000_000), { what: 'both threads to run' }),
);
afterAll(() => schemas.onApplicationShutdown());

/** Compiles the schema and asks it about the input, as a call does. */
async function problemsOf(schema: object, input: unknown) {
  const validate = await schemas.compile(schema);
  return (await validate(input, JSON.stringify(input).length)) as readonly FieldProblem[];
}

const rows = (count: number): unknown[] => Array.from({ length: count }, () => ({}));

describe('a schema', () => {
  it.each([
    ['not an object', 'text', 'must be a JSON Schema object'],
    ['an array', [], 'must be a JSON Schema object'],
    ['an unknown type', { type: 'strnig' }, 'is not a valid JSON Schema'],
    ['a reference elsewhere', { $ref: 'https://example.com/schema.json' }, 'is not a valid JSON Schema'],
    ['too many bytes', { description: 'x'.repeat(70_000) }, 'the cap is 65536'],
    ['too deep', deep(40), 'nested deeper than 32 levels'],
    ['one that refers to itself alone', { $ref: '#' }, 'takes too long, or for ever'],
    ['one that doubles itself', doubling(40), 'takes more than 2000 ms to compile and to try out'],
  ])('is refused: %s', async (_name, schema, detail) => {
    const refused = await schemas.compile(schema).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Problem);
    expect(refused).toMatchObject({
      code: 'invalid_request',
      details: { errors: [{ pointer: '/inputSchema', detail: expect.stringContaining(detail) }] },
    });
  });

  it('that takes too much keeps none of the others from being tried', async () => {
    const [tooMuch, good] = await Promise.allSettled([
      schemas.compile(doubling(40)),
      schemas.compile({ type: 'object' }),
    ]);
    expect(tooMuch).toMatchObject({ status: 'rejected', reason: { code: 'invalid_request' } });
    expect(good.status).toBe('fulfilled');
  });
});

describe('an input', () => {
  it('is looked at at once when it is valid', async () => {
    const validate = await schemas.compile({ type: 'object', required: ['q'] });
    expect(validate({ q: 1 }, 7)).toEqual([]);
  });

  it('that is small is told up to twenty problems', async () => {
    const schema = { items: { required: ['a', 'b'] } };
    expect(await problemsOf(schema, rows(3))).toHaveLength(6);
    expect(await problemsOf(schema, rows(30))).toHaveLength(20);
  });

  it('that is large is told the first', async () => {
    expect(await problemsOf({ items: { required: ['a', 'b'] } }, rows(50_000))).toEqual([
      { pointer: '/0/a', detail: 'is required' },
    ]);
  });

  it('is told one problem at least when there are too many to find', async () => {
    const required = Array.from({ length: 1_000 }, (_, n) => `field${n}`);
    expect((await problemsOf({ items: { required } }, rows(15_000))).length).toBeGreaterThan(0);
  });

  it('is looked at elsewhere when that may take long, and judged alike', async () => {
    const schema = { items: { enum: Array.from({ length: 100 }, (_, n) => ({ n })) } };
    const many = Array.from({ length: 50_000 }, (_, n) => ({ n: n % 100 }));
    const validate = await schemas.compile(schema);
    const bytes = JSON.stringify(many).length;
    const answer = validate(many, bytes);
    expect(answer).toBeInstanceOf(Promise);
    expect(await answer).toEqual([]);
    expect(await validate([...many, { n: 100 }], bytes)).toEqual([
      { pointer: '/50000', detail: expect.stringContaining('allowed values') },
    ]);
  });

  it('is refused when it takes too much there, too, and others are served', async () => {
    const twice = { oneOf: [{ items: { $ref: '#' } }, { items: { $ref: '#' } }] };
    let nested: unknown = [];
    for (let n = 0; n < 60; n++) nested = [nested];
    const [tooMuch, small] = await Promise.all([
      // Whether time or memory ends first depends on the machine.
      problemsOf(twice, nested).catch((error: Refusal) => error.details.errors),
      problemsOf({ items: { required: ['a'] } }, rows(1)),
    ]);
    const detail = /^takes more than (2000 ms|128 MB of memory) to validate: make it smaller$/;
    expect(tooMuch).toEqual([expect.objectContaining({ detail: expect.stringMatching(detail) })]);
    expect(small).toEqual([{ pointer: '/0/a', detail: 'is required' }]);
  });

  it.each([
    ['at once', 0],
    ['elsewhere', 10_000_000],
  ])('is refused when the validator throws %s', async (_where, bytes) => {
    const validate = await schemas.compile({ properties: { a: { type: 'string' } } });
    const broken = {
      get a(): never {
        throw new TypeError('of the validator');
      },
    };
    const detail = "cannot be validated with the tool's schema: of the validator";
    await expect(async () => validate(broken, bytes)).rejects.toMatchObject({
      code: 'invalid_input',
      details: { errors: [{ pointer: '/input', detail }] },
    });
  });

  it('is refused for now when too many wait, of one caller or of all', async () => {
    const validate = await schemas.compile({ items: { anyOf: [{ type: 'null' }, { const: 1 }] } });
    const ones = Array.from({ length: 400_000 }, () => 1);
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, n) => validate(ones, 800_000, n % 4 === 0 ? 'another' : 'one')),
    );
    const refused = all.filter(({ status }) => status === 'rejected');
    const tooMany = { code: 'queue_full', details: { retryAfterMs: 2_000 } };
    expect(refused.map((each) => (each as PromiseRejectedResult).reason as unknown)).toEqual(
      Array.from({ length: 12 }, () => expect.objectContaining(tooMany)),
    );
  });
});

describe('a thread that is slow to start', () => {
  // The threads are real; the clock is ahead of them.
  const slow = new InputSchemas();
  const late = async (ask: () => unknown): Promise<unknown> => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const told = (ask() as Promise<unknown>).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(30_000);
    return told;
  };
  afterEach(() => void jest.useRealTimers());
  afterAll(() => slow.onApplicationShutdown());

  it('is no fault of the schema', async () => {
    expect(await late(() => slow.compile({ type: 'object' }))).toMatchObject({
      code: 'tool_unavailable',
      detail: 'inputSchema could not be tested: The schema test thread did not start within 30000 ms',
    });
  });

  it('is no fault of the input', async () => {
    const validate = await until(() => slow.compile({ type: 'object' }), { what: 'the schema' });
    expect(await late(() => validate({}, 10_000_000))).toMatchObject({
      code: 'queue_full',
      detail: 'The input validation thread did not start within 30000 ms',
    });
  });
});

/** A chain in which each definition refers to the next twice. */
function doubling(levels: number): object {
  const twice = (n: number) => ({ allOf: [{ $ref: `#/$defs/${n}` }, { $ref: `#/$defs/${n}` }] });
  const links = Array.from({ length: levels }, (_, n) => [n, twice(n + 1)] as const);
  return { $defs: { ...Object.fromEntries(links), [levels]: {} }, ...twice(0) };
}

function deep(levels: number): object {
  return levels === 0 ? {} : { properties: deep(levels - 1) };
}
