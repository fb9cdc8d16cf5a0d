import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fixtures, startApp, type TestApp } from '../support/app.js';
import { makeTestFolder } from '../support/test-folder.js';

// real: the whole server, processes, HTTP, the official client; mock: nothing

let tk: TestApp;
let client: Client;
const folder = makeTestFolder();
chmodSync(folder, 0o755);

beforeAll(async () => {
  tk = await startApp();
  client = new Client({ name: 'test', version: '1.0.0' });
  // The SDK was not written for exactOptionalPropertyTypes.
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', tk.url)));
});

afterAll(async () => {
  await client.close();
  await tk.close();
});

const args = (...options: string[]) => [join(fixtures, 'mcp-server.mjs'), ...options];
const register = (name: string, options: string[] = [], settings: object = {}) =>
  tk.http
    .post('/api/v1/custom-tools')
    .send({ name, protocol: 'mcp', command: 'node', args: args(...options), ...settings });
const serve = (name: string, tools: unknown[], settings: object = {}) => {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(tools));
  return register(name, [`--lists=${file}`], { sandbox: { allowedPaths: [folder] }, ...settings });
};
const stateOf = async (server: string, tool: string) => {
  const { body } = await tk.http.get(`/api/v1/custom-tools/${server}/tools`).expect(200);
  return body.data.find((each: { tool: string }) => each.tool === tool);
};
const listed = async (name: string) => (await client.listTools()).tools.find((tool) => tool.name === name);
const give = (server: string, result: unknown) =>
  client.callTool({ name: `${server}__give`, arguments: { result } });

const object = { type: 'object' };
const tool = (name: string, more: object = {}) => ({ name, inputSchema: object, ...more });

describe('an output schema', () => {
  const id = 'https://example.com/row';
  it('that clients cannot compile is left out with a warning: all of them list all tools', async () => {
    const odd: Record<string, object> = {
      dangling: { properties: { a: { $ref: '#/$defs/Gone' } } },
      elsewhere: { properties: { a: { $ref: 'https://example.com/schema.json' } } },
      mistyped: { properties: { a: { type: 'strnig' } } },
      unmatchable: { properties: { a: { type: 'string', pattern: '(?i)a' } } },
      draft04: {
        $schema: 'http://json-schema.org/draft-04/schema#',
        properties: { a: { minimum: 0, exclusiveMinimum: true } },
      },
      named: { properties: { a: { $id: id, type: 'string' } } },
      named_too: { properties: { a: { $id: id, type: 'number' } } },
    };
    const sound: Record<string, object> = {
      plain: { properties: { a: { type: 'string' } } },
      booleans: { properties: { a: true } },
      untyped: {},
      one: { $id: id, properties: { a: { type: 'string' } }, required: ['a'] },
      // Another schema of the same $id.
      two: { $id: id, properties: { b: { type: 'string' } }, required: ['b'] },
    };
    const tools = Object.entries({ ...odd, ...sound }).map(([name, outputSchema]) =>
      tool(name, { outputSchema }),
    );
    await serve('odd', tools).expect(201);
    for (const name of Object.keys(odd)) {
      expect(await stateOf('odd', name)).toMatchObject({
        state: 'callable',
        warning: expect.stringMatching(/^it is listed without its outputSchema: its outputSchema /),
      });
      expect(await listed(`odd__${name}`)).not.toHaveProperty('outputSchema');
    }
    for (const name of Object.keys(sound)) {
      expect(await stateOf('odd', name)).not.toHaveProperty('warning');
      expect(await listed(`odd__${name}`)).toMatchObject({ outputSchema: object });
    }
    await tk.http.get('/api/v1/custom-tools/odd/logs').expect(200, /odd__dangling: it is listed without/);
  });
});

it.each([
  ['draft-04', 'http://json-schema.org/draft-04/schema#'],
  ['another spelling', 'https://json-schema.org/draft-07/schema'],
  ['a dialect that nobody knows', 'https://example.com/dialect'],
])('an input schema of %s is read as the nearest dialect, with a warning', async (what, $schema) => {
  const name = `dialect-${what.length}`;
  const inputSchema = { ...object, $schema, properties: { n: { type: 'integer' } } };
  await serve(name, [tool('go', { inputSchema })]).expect(201);
  expect(await stateOf(name, 'go')).toMatchObject({
    state: 'callable',
    warning: expect.stringContaining('is not known here'),
  });
  await tk.call(`${name}__go`, { n: 1 }).expect(200);
  await tk.call(`${name}__go`, { n: 'x' }).expect(422);
});
