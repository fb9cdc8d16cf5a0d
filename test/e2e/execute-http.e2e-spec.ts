import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { startApp, type TestApp } from '../support/app.js';

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

const key = 'an-admin-key-of-some-length';
let tk: TestApp;

beforeAll(async () => {
  tk = await startApp(
    { TOOL_INPUT_MAX_BYTES: '3000', ADMIN_API_KEY: key },
    { server: { bodyLimitBytes: 4_000 } },
  );
});
afterAll(() => tk.close());

const path = '/api/v1/tools/get_playbooks/execute';

async function post(
  to: string,
  body: string | readonly string[],
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { hostname, port } = new URL(tk.url);
  const sent = httpRequest({
    hostname,
    port,
    path: to,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key, ...headers },
  });
  const answered = once(sent, 'response');
  if (typeof body === 'string') sent.end(body);
  else {
    // Chunks without a length.
    for (const chunk of body) sent.write(chunk);
    sent.end();
  }
  // A server that has answered may close before it has read everything.
  sent.on('error', () => undefined);
  const [response] = await answered;
  let text = '';
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
}

const call = JSON.stringify({ input: { query: 'pod OOMKilled' }, context: { investigationId: 'inv-http' } });
const deep = `{"input":${'['.repeat(300)}${']'.repeat(300)}}`;

describe.each([
  ['a call', call, {}, 200, undefined],
  ['a call in chunks', [call.slice(0, 10), call.slice(10)], {}, 200, undefined],
  [
    'a media type with a charset',
    call,
    { 'content-type': 'application/json; charset=utf-8' },
    200,
    undefined,
  ],
  ['malformed JSON', '{"input":', {}, 400, 'invalid_request'],
  ['no body at all', '', {}, 422, 'invalid_input'],
  ['a prototype in the body', '{"input":{"__proto__":{"a":1}}}', {}, 400, 'invalid_request'],
  ['an unknown field', '{"inputs":{}}', {}, 400, 'invalid_request'],
  ['an input that breaks the schema', '{"input":{"query":7}}', {}, 422, 'invalid_input'],
  ['a body that is nested too deeply', deep, {}, 400, 'invalid_request'],
  ['a body over its limit', `{"input":"${'x'.repeat(80_000)}"}`, {}, 413, 'payload_too_large'],
  [
    'chunks over the limit',
    Array.from({ length: 90 }, () => 'x'.repeat(1_000)),
    {},
    413,
    'payload_too_large',
  ],
  ['no key', call, { 'x-api-key': '' }, 401, 'unauthorized'],
  ['a wrong key', call, { 'x-api-key': 'wrong' }, 401, 'unauthorized'],
] as const)('%s', (_what, body, headers, status, code) => {
  it(`answers ${status}`, async () => {
    const answer = await post(path, body, headers);
    expect(answer.status).toBe(status);
    expect(answer.headers['x-request-id']).toEqual(expect.any(String));
    const type = code === undefined ? 'application/json' : 'application/problem+json';
    expect(answer.headers['content-type']).toBe(`${type}; charset=utf-8`);
    expect(JSON.parse(answer.text).code).toBe(code);
  });
});

describe('the route of calls', () => {
  it.each([
    ['at once', (text: string) => [text]],
    ['in pieces that end anywhere', (text: string) => text.match(/[^]{1,97}/g) ?? []],
  ])('answers each of many requests on one connection that come %s, refused ones too', async (_how, cut) => {
    const { hostname, port, host } = new URL(tk.url);
    const good = '{"input":{"query":"pod OOMKilled"}}';
    const bodies = [good, '{"input":{}}', good, '{"x":1}', good, '{"input":7}', good];
    const requests = [...bodies, ...bodies].map(
      (body, n, { length }) =>
        `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n` +
        `x-request-id: r${n}\r\ncontent-length: ${body.length}\r\n` +
        `${n === length - 1 ? 'connection: close\r\n' : ''}\r\n${body}`,
    );
    const socket = connect(Number(port), hostname).setNoDelay();
    await once(socket, 'connect');
    for (const piece of cut(requests.join(''))) {
      await new Promise((resolve) => socket.write(piece, resolve));
    }
    let text = '';
    for await (const chunk of socket) text += chunk;
    const heads = [...text.matchAll(/HTTP\/1\.1 (\d+)[^]*?x-request-id: (\w+)\r\n/gi)];
    expect(heads.map(([, status, id]) => `${id} ${status}`)).toEqual(
      requests.map((_request, n) => `r${n} ${[200, 422, 200, 400, 200, 422, 200][n % 7]}`),
    );
  });

  it('keeps the caller’s request id and tells what is left', async () => {
    const { headers } = await post(path, call, { 'x-request-id': 'req-http-1' });
    expect(headers['x-request-id']).toBe('req-http-1');
    expect(headers['ratelimit-remaining']).toEqual(expect.stringMatching(/^\d+$/));
  });

  it('leaves names that it does not know to the door', async () => {
    const { status, text } = await post('/api/v1/tools/nobody.knows-it/execute', call);
    expect([status, JSON.parse(text).code]).toEqual([404, 'tool_not_found']);
  });
});
