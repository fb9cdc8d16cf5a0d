import { startApp, type TestApp } from '../support/app.js';

// real: the server, HTTP, PostgreSQL; mock: nothing

/** What a probe waits for on a machine that has other work; a text that held up the server would take longer. */
const maxWaitMs = 5_000;

describe('YAML that grows', () => {
  let tk: TestApp;
  beforeAll(async () => (tk = await startApp()));
  afterAll(() => tk.close());

  const laughs = (levels: number, of: string): string =>
    [
      'a0: &a0 [x]',
      ...Array.from({ length: levels }, (_, n) => `a${n + 1}: &a${n + 1} ${of.replaceAll('*', `*a${n}`)}`),
    ].join('\n');
  it.each([
    ['lists of lists', laughs(12, '[*,*,*,*,*,*,*,*,*]')],
    ['maps of maps', laughs(12, '{a: *,b: *,c: *,d: *,e: *,f: *,g: *}')],
    ['one text many times', `a: &a ${'x'.repeat(100_000)}\nb: [${Array(100_000).fill('*a').join()}]`],
    ['depth', '['.repeat(100_000)],
    [
      'keys that merge',
      `a: &a {${Array.from({ length: 5_000 }, (_, n) => `k${n}: 1`).join()}}\n${Array.from({ length: 5_000 }, (_, n) => `b${n}:\n  <<: *a`).join('\n')}`,
    ],
    ['a circle', 'a: &a [*a, *a, *a]'],
  ])('is refused and holds nobody up: %s', async (_what, text) => {
    let slowest = 0;
    let done = false;
    const pulse = (async () => {
      while (!done) {
        const asked = performance.now();
        await tk.http.get('/livez').expect(200);
        slowest = Math.max(slowest, performance.now() - asked);
      }
    })();
    const { status } = await tk.http
      .post('/api/v1/playbooks/import')
      .set('content-type', 'application/yaml')
      .send(text);
    done = true;
    await pulse;
    expect(Math.floor(status / 100)).toBe(4);
    expect(slowest).toBeLessThan(maxWaitMs);
  });
});
