import { readFileSync } from 'node:fs';
import { Lab } from '../fuzz/lab.js';
import { type Shape, shapes } from '../fuzz/shapes.js';

/** The caps of a schema and of an input, less what surrounds them. */
const kb = 1_000;
/** Whatever a stranger sends, everybody else waits no longer; of the thread's own time, on a machine that does much else. */
const maxBlockMs = 100;
const maxResidentMb = 1_000;

const lab = new Lab();
let count = 0;

beforeAll(() => lab.start());
afterAll(() => lab.end());

/** Registers the schema and calls the tool. @returns status of the registration and, where there was one, of the call */
async function tried(what: string, schemaBytes: number, inputBytes: number) {
  const { schema, input } = (shapes[what] as Shape)(schemaBytes, inputBytes);
  const name = `hostile_${++count}`;
  const began = Date.now();
  const registered = await lab.register(name, schema);
  const called = registered.status === 201 ? await lab.call(name, input) : undefined;
  const blocks = await lab.blocksSince(began);
  return { registered, called, maxMs: Math.max(0, ...blocks.map(({ ms }) => ms)) };
}

function residentMb(): number {
  const status = readFileSync(`/proc/${lab.gateway.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1_024;
}

describe('a schema that costs too much is refused where it is registered, and nobody waits for it', () => {
  const refused = {
    status: 400,
    body: {
      code: 'invalid_request',
      errors: [
        {
          pointer: '/inputSchema',
          detail: expect.stringMatching(/takes|too (large|long)|for ever/) as string,
        },
      ],
    },
  };

  it.each([
    ['patterns with large programs', 40 * kb],
    ['a chain that doubles', 4 * kb],
    ['a chain that doubles', 1.8 * kb],
    ['itself', 1],
    ['itself behind a property', 1],
  ])('%s, %d bytes', async (what, schemaBytes) => {
    const { registered, maxMs } = await tried(what, schemaBytes, 0);
    expect(registered).toMatchObject(refused);
    expect(maxMs).toBeLessThan(maxBlockMs);
  });

  it.each([
    ['a definition referred to everywhere', 60 * kb],
    ['a definition referred to everywhere', 32 * kb],
    ['patterns with large programs', 3 * kb],
    ['rules that all fail', 48 * kb],
  ])('%s, %d bytes, unless the machine compiles it within the time limit', async (what, schemaBytes) => {
    const { registered, maxMs } = await tried(what, schemaBytes, 0);
    if (registered.status !== 201) expect(registered).toMatchObject(refused);
    expect(maxMs).toBeLessThan(maxBlockMs);
  });

  it('but one that is only large is not', async () => {
    const { registered, called } = await tried('a definition referred to everywhere', 6 * kb, 0);
    expect([registered.status, called?.status]).toEqual([201, 200]);
  });
});

describe('an input is looked at while nobody waits, however large it is and whatever its schema', () => {
  it.each([
    ['unique numbers', 1, 1_000 * kb, 422],
    ['unique arrays', 1, 300 * kb, 422],
    ['unique rows, nested', 1, 60 * kb, 200],
    ['rows without what is required', 240, 100 * kb, 422],
    ['a long enum of objects', 60 * kb, 400 * kb, 422],
    ['branches of which the last passes', 8 * kb, 400 * kb, 422],
    ['itself twice, for each level of arrays', 1, 1, 422],
    ['a chain that doubles behind a property', 1.8 * kb, 1, 422],
  ])(
    '%s: schema of %d bytes, input of %d, answered with %d',
    async (what, schemaBytes, inputBytes, status) => {
      const { registered, called, maxMs } = await tried(what, schemaBytes, inputBytes);
      expect([registered.status, called?.status]).toEqual([201, status]);
      expect(maxMs).toBeLessThan(maxBlockMs);
    },
  );

  it('says that it was too costly, and names the way out', async () => {
    const { called } = await tried('branches of which the last passes', 8 * kb, 400 * kb);
    expect(called?.body).toMatchObject({
      code: 'invalid_input',
      detail: expect.stringContaining('make it smaller'),
    });
  });

  it('holds no memory for it', () => {
    expect(residentMb()).toBeLessThan(maxResidentMb);
  });
});
