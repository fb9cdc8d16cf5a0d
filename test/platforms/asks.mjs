import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server, the official clients and servers of both eras; mock: nothing

const { startAskingServer } = await import('../support/asking-modern-server.ts');
const root = join(import.meta.dirname, '..', '..');
const [library, fixtures] = [join(root, 'node_modules'), join(root, 'test', 'fixtures', 'tools')];
const capabilities = { elicitation: { form: {}, url: {} } };
const accept = (amount) => ({ action: 'accept', content: { amount } });
const numberIn = (message) => Number(/\d+/.exec(message)?.[0]);

describe('clients and servers of both eras', () => {
  let server;
  let upstream;
  const clients = [];
  before(async () => {
    upstream = await startAskingServer();
    server = await startPlatformServer({ SANDBOX_GRANTABLE_PATHS: `${library}:${fixtures}` });
    const program = {
      command: 'node',
      args: [join(fixtures, 'asking-server.mjs')],
      sandbox: { allowedPaths: [library] },
    };
    await server.register({ name: 'old', protocol: 'mcp', poolSize: 4, maxConcurrency: 1, ...program });
    await server.register({ name: 'new', protocol: 'mcp', url: upstream.url });
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server.stop();
    await upstream.stop();
  });

  const connected = async (Client, Transport, options, answered) => {
    const client = new Client({ name: 'test', version: '1' }, { capabilities, ...options });
    const answer = ({ params }) => accept(answered + numberIn(params.message));
    client.setRequestHandler(Client === OldClient ? ElicitRequestSchema : 'elicitation/create', answer);
    await client.connect(
      new Transport(new URL('/mcp', server.url), { requestInit: { headers: server.key } }),
    );
    clients.push(client);
    return client;
  };
  const ofEra = {
    old: (answered) => connected(OldClient, OldTransport, {}, answered),
    new: (answered) =>
      connected(NewClient, NewTransport, { versionNegotiation: { mode: { pin: '2026-07-28' } } }, answered),
  };
  const order = async (client, tool, item) => {
    const { content, isError } = await client.callTool({ name: tool, arguments: { item } });
    return isError ? content[0].text : JSON.parse(content[0].text).content;
  };

  it('200 calls of three cells at once get the answers of their own callers', async () => {
    const cells = [
      ['old', 'old__order'],
      ['old', 'new__order'],
      ['new', 'new__order'],
    ];
    const callers = await Promise.all(
      Array.from({ length: 12 }, async (_, n) => {
        const [era, tool] = cells[n % cells.length];
        return { tool, own: (n + 1) * 1_000, client: await ofEra[era]((n + 1) * 1_000) };
      }),
    );
    const rest = Array.from({ length: 200 }, (_, call) => call).values();
    const lane = async () => {
      for (const call of rest) {
        const { tool, own, client } = callers[call % callers.length];
        assert.deepEqual(await order(client, tool, `no. ${call}`), { amount: own + call });
      }
    };
    await Promise.all(Array.from({ length: 16 }, lane));
  });

  it('a new client of an old server is refused with -32021', async () => {
    const client = await ofEra.new(0);
    await assert.rejects(order(client, 'old__order', 'no. 1'), ({ code, data }) => {
      assert.equal(code, -32021);
      assert.deepEqual(data.requiredCapabilities, { elicitation: { form: {} } });
      return true;
    });
  });
});
