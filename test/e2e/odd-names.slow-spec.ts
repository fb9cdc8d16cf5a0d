import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';

// real: the server, HTTP as it goes over the wire, PostgreSQL, the tools' processes; mock: nothing

const odd = [
  ...[
    '..',
    '../..',
    '../../../../etc/passwd',
    '%2e%2e',
    '..%2f..%2f..%2fetc%2fpasswd',
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
  ],
  ...[
    '....//....//etc/passwd',
    '%252e%252e%252fetc%252fpasswd',
    '..%5c..%5cetc',
    '%c0%ae%c0%ae%c0%afetc',
    '/etc/passwd',
  ],
  ...[
    '%2fetc%2fpasswd',
    'file:%2f%2f%2fetc%2fpasswd',
    '%00',
    'a%00b',
    'passwd%00.json',
    '%0d%0aset-cookie:a=b',
    '%ff',
  ],
  ...[
    '%',
    '%zz',
    '%ed%a0%80',
    '__proto__',
    'constructor',
    'hasOwnProperty',
    'toString',
    '%F0%9F%98%80',
    '%20',
    "'",
  ],
  ...['%22%3B%20DROP%20TABLE%20custom_tools', '*', '$%7Bx%7D', 'x'.repeat(300)],
];
const routes: readonly ((name: string) => string)[] = [
  (name) => `/api/v1/tools/${name}`,
  (name) => `/api/v1/custom-tools/${name}`,
  (name) => `/api/v1/tool-health/${name}/error-patterns`,
  (name) => `/docs/${name}`,
];

describe('paths and names', () => {
  let tk: TestApp;
  beforeAll(async () => (tk = await startApp()));
  afterAll(() => tk.close());

  /** As it is written: fetch would straighten the path. */
  async function ask(path: string, method = 'GET'): Promise<{ response: IncomingMessage; text: string }> {
    const { hostname, port } = new URL(tk.url);
    const headers = { ...tk.key, ...(method === 'POST' && { 'content-type': 'application/json' }) };
    const sent = request({ hostname, port, path, method, headers, agent: false });
    sent.end(method === 'POST' ? '{}' : undefined);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    return { response, text };
  }

  it.each(odd)('lead nowhere: %s', async (name) => {
    for (const route of routes) {
      const { response, text } = await ask(route(name));
      const { statusCode = 0, headers } = response;
      expect([route(name).slice(0, 100), statusCode < 500]).toEqual([route(name).slice(0, 100), true]);
      // A tool that has never been called has a health, and the shortest names lead to the list above.
      if (statusCode === 200) expect(headers['content-type']).toMatch(/json|html/);
      expect(text).not.toMatch(/root:[^"]*:0:0:|"level":50|node_modules/);
      expect(headers).not.toHaveProperty('set-cookie');
    }
    const { response } = await ask(`/api/v1/tools/${name}/execute`, 'POST');
    expect(Math.floor((response.statusCode ?? 0) / 100)).toBe(4);
  });

  it.each([
    '../x',
    '__proto__',
    'a/b',
    'a b',
    '',
    '-a',
    'a\0b',
    'é',
    `a${'x'.repeat(64)}`,
    7,
    null,
    {},
    ['a'],
  ])('are refused where they are none of a tool: %j', async (name) => {
    const { body } = await tk.http
      .post('/api/v1/custom-tools')
      .send({ name, command: 'node', args: [join(fixtures, 'fixture-tool.mjs')] })
      .expect(400);
    expect(body.errors[0].pointer).toBe('/name');
  });

  it.each(['constructor', 'hasOwnProperty', 'toString'])('may be those of every object: %s', async (name) => {
    await tk.register(name);
    expect((await tk.call(name, { a: 1 }).expect(200)).body.result).toEqual({ a: 1 });
    for (const path of [`tools/${name}`, `custom-tools/${name}/logs`, `tool-metrics/stats/${name}`]) {
      await tk.http.get(`/api/v1/${path}`).expect(200);
    }
    const { body } = await tk.http.get(`/api/v1/tool-health/${name}`).expect(200);
    expect(JSON.stringify(body)).toContain(`"${name}"`);
    await tk.http.get('/api/v1/tool-health/dashboard').expect(200);
    await tk.http.get('/metrics').expect(200, new RegExp(`tool="${name}"`));
    await tk.http.delete(`/api/v1/custom-tools/${name}`).expect(204);
    await tk.call(name).expect(404);
  });
});
