import { execFileSync } from 'node:child_process';
import { actOf } from './act.js';
import { asCommand, asCurl, asTypeScript, exampleOf } from './snippets.js';

const text = `it's "so" $HOME \`x\``;
const act = {
  method: 'POST',
  path: '/api/v1/tools/a/execute',
  body: JSON.stringify({ input: { text } }),
} as const;
/** The arguments that a shell makes of a command. */
const words = (command: string): string[] =>
  execFileSync('bash', ['-c', `curl() { printf '%s\\0' "$@"; }; node() { printf '%s\\0' "$@"; }; ${command}`])
    .toString()
    .split('\0');

it('is read by a shell as it was meant, whatever is in the input', () => {
  expect(words(asCurl(act, 'http://127.0.0.1:3000'))).toEqual(expect.arrayContaining([act.body]));
  expect(words(asCommand({ command: '/opt/tool keeper.mjs' }, 'tool call', 'a', act.body))).toEqual([
    '/opt/tool keeper.mjs',
    'tool',
    'call',
    'a',
    act.body,
    '',
  ]);
});

it('is TypeScript whose body is the same text', () => {
  const [, literal = ''] = /body: (".*"),/.exec(asTypeScript(act, 'http://x')) ?? [];
  expect(JSON.parse(literal)).toBe(act.body);
});

it.each([
  ['shop', 'shop'],
  ['it´s 結帳', "UTF-8''it%C2%B4s%20%E7%B5%90%E5%B8%B3"],
  [' padded ', "UTF-8''%20padded%20"],
  ["UTF-8''a", "UTF-8''UTF-8''a"],
])('names a project as a header can: %s', (project, header) => {
  expect(words(asCurl({ ...act, project }, 'http://x'))).toContain(`x-project-id: ${header}`);
  expect(asTypeScript({ ...act, project }, 'http://x')).toContain(JSON.stringify(header));
});

it('says no more than there is, of an act without a body', () => {
  const removal = { method: 'DELETE', path: '/api/v1/custom-tools/a', body: '' };
  expect(words(asCurl(removal, 'http://x'))).not.toContain('-d');
  expect(asTypeScript(removal, 'http://x')).not.toContain('body');
});

it('is of the request that would be sent, which is not', async () => {
  const send = ({ fetch = globalThis.fetch } = {}) =>
    fetch(new Request('http://x/api/v1/keys/k?reason=lost', { method: 'DELETE' }));
  expect(await actOf(send)).toEqual({ method: 'DELETE', path: '/api/v1/keys/k?reason=lost', body: '' });
});

// prevents a first snippet that the server refuses
it('fills what a schema requires from the schema itself', () => {
  const properties = {
    path: { type: 'string', examples: ['/'] },
    kind: { enum: ['a', 'b'] },
    fixed: { const: 7 },
    limit: { type: 'integer', minimum: 3 },
    by: { type: 'object', properties: { deep: { type: 'boolean', default: true } }, required: ['deep'] },
    list: { type: 'array' },
    text: { type: 'string' },
    left: { type: 'string' },
  };
  const required = ['path', 'kind', 'fixed', 'limit', 'by', 'list', 'text'];
  expect(exampleOf({ type: 'object', properties, required })).toEqual({
    ...{ path: '/', kind: 'a', fixed: 7, limit: 3, by: { deep: true }, list: [], text: 'text' },
  });
  expect(exampleOf({})).toBe('text');
  expect(exampleOf({ type: 'object' })).toEqual({});
});
