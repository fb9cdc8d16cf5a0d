import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server, MCP's reference server alone and behind it, MCP's client; mock: nothing

const name = 'everything';
const folder = join(import.meta.dirname, `node_modules/@modelcontextprotocol/server-${name}`);
const program = realpathSync(join(folder, 'dist/index.js'));

/** Members that are missing where they say what is meant without them. */
const withDefaults = ({ inputSchema, annotations = {}, ...tool }) => ({
  ...tool,
  inputSchema: { properties: {}, ...inputSchema },
  annotations: {
    readOnlyHint: false,
    idempotentHint: false,
    destructiveHint: true,
    openWorldHint: true,
    ...annotations,
  },
});
/** By name or URI, with the names that the server itself has. */
const byName = (items) =>
  Object.fromEntries(
    items.map((item) => {
      const own = { ...item, name: item.name.replace(`${name}__`, '') };
      // How a call may run as a task is between a server and its own client.
      delete own.execution;
      delete own._meta?.['toolkeeper/taskSupport'];
      if (Object.keys(own._meta ?? {}).length === 0) delete own._meta;
      return [own.uri ?? own.uriTemplate ?? own.name, own];
    }),
  );

describe(`server-${name} behind the server is as it is without it`, () => {
  let server;
  let alone;
  let behind;
  before(async () => {
    server = await startPlatformServer({});
    await server.register({
      name,
      protocol: 'mcp',
      command: 'node',
      args: [program],
      workingDir: import.meta.dirname,
    });
    alone = new Client({ name: 'test', version: '1.0.0' });
    await alone.connect(
      new StdioClientTransport({ command: process.execPath, args: [program], stderr: 'ignore' }),
    );
    behind = new Client({ name: 'test', version: '1.0.0' });
    const requestInit = { headers: server.key };
    await behind.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.url), { requestInit }));
  });
  after(async () => {
    await Promise.all([alone.close(), behind.close()]);
    await server.stop();
  });

  const both = async (ask) => [await ask(alone, (own) => own), await ask(behind, (own) => `${name}__${own}`)];

  it('in its tools with their annotations', async () => {
    const lists = await both((client) => client.listTools());
    const [its, ours] = lists.map(({ tools }) => byName(tools.map(withDefaults)));
    for (const [tool, listed] of Object.entries(its)) assert.deepEqual(ours[tool], listed);
  });

  for (const [what, list] of [
    ['resources', (client) => client.listResources()],
    ['resourceTemplates', (client) => client.listResourceTemplates()],
    ['prompts', (client) => client.listPrompts()],
  ])
    it(`in its ${what}`, async () => {
      const [its, ours] = (await both(list)).map(({ [what]: items }) => byName(items));
      assert.ok(Object.keys(its).length > 0);
      assert.deepEqual(ours, its);
    });

  it('in what is read', async () => {
    const { resources } = await alone.listResources();
    for (const { uri } of resources.slice(0, 5)) {
      const [its, ours] = await both((client) => client.readResource({ uri }));
      assert.deepEqual(ours, its);
    }
  });

  it('in each prompt, and in completions', async () => {
    const { prompts } = await alone.listPrompts();
    for (const prompt of prompts) {
      const given = (prompt.arguments ?? []).map((each) => [
        each.name,
        each.name === 'resourceId' ? '1' : 'a',
      ]);
      const ask = (client, named) =>
        client
          .getPrompt({ name: named(prompt.name), arguments: Object.fromEntries(given) })
          .catch(({ code }) => code);
      const [its, ours] = await both(ask);
      assert.deepEqual(ours, its, prompt.name);
      for (const argument of prompt.arguments ?? []) {
        const ref = (named) => ({ type: 'ref/prompt', name: named(prompt.name) });
        const complete = (client, named) =>
          client
            .complete({ ref: ref(named), argument: { name: argument.name, value: '' } })
            .catch(({ code }) => code);
        const [theirs, answered] = await both(complete);
        assert.deepEqual(answered, theirs, `${prompt.name} ${argument.name}`);
      }
    }
  });

  it('in its instructions, under its name', () => {
    const told = alone.getInstructions().trim();
    assert.ok(behind.getInstructions().startsWith(`# ${name}\n${told.slice(0, 1_900)}`));
  });
});
