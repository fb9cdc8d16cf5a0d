import fc from 'fast-check';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import { OpenApi, type Operation } from '../support/openapi.js';
import { shippedPlaybooks } from '../support/playbooks-dir.js';

// real: the whole server with its examples, HTTP; mock: nothing. What is drawn, PROPERTY_SEED draws anew.

let tk: TestApp;
let api: OpenApi;
beforeAll(async () => {
  tk = await startApp({
    CUSTOM_TOOLS_DIR: join(process.cwd(), 'tools', 'installed'),
    PLAYBOOKS_DIR: shippedPlaybooks,
  });
  api = new OpenApi((await tk.http.get('/openapi.json').expect(200)).body);
});
afterAll(() => tk.close());

const isWrite = ({ method }: Operation): boolean => method !== 'get';
/** Each is a 4xx or better: nobody's request is our fault. */
const expectNoFault = (faults: readonly string[]): void => expect(faults).toEqual([]);

const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    ...["' OR 1=1 --", '"; DROP TABLE custom_tools; --', '\0', 'a\0b', '\ud800', '%00', '../../etc/passwd'],
    ...['__proto__', 'constructor', 'hasOwnProperty', 'toString', '${7*7}', '{{7*7}}', '\r\nSet-Cookie: a=b'],
    ...[-1, 0, 1e308, -1e308, 2 ** 31, 2 ** 53, 0.1, '1e400', 'NaN', '-0', '0x10', '٣', ' ', ''],
    ...[
      '9999-99-99',
      '0000-00-00',
      '275761-01-01',
      '-271822-01-01',
      '2026-02-30T25:61:61Z',
      'now',
      '1700000000',
    ],
    ...[null, true, [], {}, [[]], [{}], 'x'.repeat(5_000), '🧨'.repeat(300)],
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }),
);
const drawn = (count: number, n: number): unknown[] =>
  fc.sample(hostile, { numRuns: count, seed: (fc.readConfigureGlobal().seed ?? 0) + n });

describe('hostile queries', () => {
  it('get no 5xx of any route that reads', async () => {
    const faults: string[] = [];
    let asked = 0;
    const reads = api
      .operations()
      .filter((each) => !isWrite(each) && !/^\/(docs|livez|readyz|startupz)/.test(each.path));
    for (const [n, each] of reads.entries()) {
      const names: string[] = (each.operation.parameters ?? [])
        .filter(({ in: place }: { in: string }) => place !== 'header')
        .map(({ name }: { name: string }) => name);
      for (const name of [...names, 'unknown', 'limit[]', '__proto__']) {
        for (const value of drawn(25, n)) {
          const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
          const query = names.includes(name)
            ? ''
            : `?${encodeURIComponent(name)}=${encodeURIComponent(text.toWellFormed())}`;
          const url = `${api.urlOf(each, { [name]: text.toWellFormed() }).replace(/\?$/, '')}${query}`;
          if (url.length > 12_000) continue;
          const { status } = await tk.http.get(url);
          asked++;
          if (status >= 500) faults.push(`${status} ${url.slice(0, 300)}`);
        }
      }
    }
    expectNoFault(faults);
    expect(asked).toBeGreaterThan(3_000);
  }, 900_000);
});

/** A body with something hostile in the place of one of its parts, or beside them. */
function mutated(body: unknown, value: unknown, at: number): unknown {
  if (typeof body !== 'object' || body === null) return value;
  const copy = structuredClone(body) as Record<string, unknown>;
  const names = Object.keys(copy);
  const name = names[at % (names.length + 2)];
  if (name === undefined) return { ...copy, [at % 2 ? 'hasOwnProperty' : 'unknown']: value };
  const member = copy[name];
  const deeper = typeof member === 'object' && member !== null && at % 3 > 0;
  if (at % 7 === 0) delete copy[name];
  else copy[name] = deeper ? mutated(member, value, Math.floor(at / 3)) : value;
  return copy;
}

describe('mutated bodies', () => {
  const writes = (): [Operation, unknown][] =>
    api
      .operations()
      .filter((each) => isWrite(each) && !(each.method === 'delete' && /custom-tools/.test(each.path)))
      .flatMap((each) => api.bodiesOf(each).map((body) => [each, body] as [Operation, unknown]));

  it('get no 5xx of any route that writes, and pass none that asks for the key', async () => {
    const faults: string[] = [];
    let asked = 0;
    for (const [n, [each, body]] of writes().entries()) {
      const url = api.urlOf(each);
      const ask = (agent: TestApp['http'], sent: unknown) =>
        agent[each.method as 'post'](url)
          .send(JSON.stringify(sent) ?? '')
          .set('content-type', 'application/json');
      // Without a key tools are called, outcomes told, spans sent and read, and browsers signed in and out.
      const isOpen = /\/(execute|outcomes|session|spans|batch-spans)$/.test(each.path);
      for (const [at, value] of drawn(40, n).entries()) {
        const sent = mutated(body, value, at);
        const text = JSON.stringify(sent)?.slice(0, 3_000);
        const { status } = await ask(tk.http, sent);
        asked++;
        // What is refused because something cannot be tried out, or is cut off, is no fault either.
        if (status >= 500 && status !== 503) faults.push(`${status} ${each.method} ${url} ${text}`);
        if (isOpen || at % 5 > 0) continue;
        const without = await ask(tk.anonymous, sent);
        // Fastify reads a body before the route is asked.
        if (without.status !== 401 && without.status !== 400)
          faults.push(`without a key ${without.status} ${each.method} ${url} ${text}`);
      }
    }
    expectNoFault(faults);
    expect(asked).toBeGreaterThan(900);
  }, 1_800_000);
});
