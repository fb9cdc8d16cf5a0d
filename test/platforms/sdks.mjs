import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { startPlatformServer } from './platform-server.mjs';
import { installPython, noVenv, pythonOf } from './python.mjs';

// real: the built server, the official SDKs of three languages and both eras, a server of the official SDK behind it; mock: nothing

const { until } = await import('../support/wait.ts');
const root = join(import.meta.dirname, '..', '..');
const here = (...path) => join(import.meta.dirname, ...path);
const run = promisify(execFile);
const elicitation = { form: {} };

/** What a client of the TypeScript SDK does; those in other languages do the same, and print the same. */
async function typescript(Client, Transport, options, { url, key }) {
  const client = new Client({ name: 'sdk', version: '1' }, { capabilities: { elicitation }, ...options });
  const asked = Client === OldClient ? ElicitRequestSchema : 'elicitation/create';
  client.setRequestHandler(asked, () => ({ action: 'accept', content: { response: 'blue' } }));
  await client.connect(new Transport(new URL('/mcp', url), { requestInit: { headers: key } }));
  const call = async (tool, input, ...others) => {
    const { content } = await client.callTool({ name: `sdk__${tool}`, arguments: input }, ...others);
    return content[0].text;
  };
  const { tools } = await client.listTools();
  const slow = () =>
    call('slow_compute', { seconds: 20, label: 'typescript' }, ...(Client === OldClient ? [undefined] : []), {
      signal: AbortSignal.timeout(1_000),
    });
  const out = {
    revision: client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion,
    tools: tools.length > 10,
    called: await call('test_simple_text', {}),
    read: (await client.readResource({ uri: 'test://static-text' })).contents[0].text,
    prompt: (await client.getPrompt({ name: 'sdk__test_simple_prompt' })).messages[0].content.text,
    asked: await call('test_elicitation', { message: 'Which colour?' }),
    left: await slow().then(
      () => false,
      () => true,
    ),
  };
  await client.close();
  return out;
}

const printed = async (...command) => JSON.parse((await run(...command)).stdout);
/** A Python client, with the packages of its own era. */
const python = (requirements, mode) => {
  const file = here(requirements);
  const asked = ({ url, key }) => [here('sdk_client.py'), `${url}/mcp`, key.authorization, mode];
  return installPython(file) && ((at) => printed(pythonOf(file), asked(at)));
};
const hasGo = spawnSync('go', ['version']).status === 0;
const go = (revision) =>
  hasGo &&
  (({ url, key }) =>
    printed('go', ['run', '.', `${url}/mcp`, key.authorization, revision], { cwd: here('go') }));
const newMode = (mode) => ({ versionNegotiation: { mode } });

/** By name: the newest revision that it speaks, and what runs it. */
const clients = {
  'TypeScript 1.x': ['2025-11-25', (at) => typescript(OldClient, OldTransport, {}, at)],
  'TypeScript 2.x': ['2026-07-28', (at) => typescript(NewClient, NewTransport, newMode('auto'), at)],
  'Python 1.x': ['2025-11-25', python('requirements-mcp-1.txt', 'initialize')],
  'Python 2.x': ['2026-07-28', python('requirements-mcp-2.txt', 'auto')],
  'Python 2.x, as of the legacy era': ['2025-11-25', python('requirements-mcp-2.txt', 'legacy')],
  Go: ['2026-07-28', go('')],
  'Go, as of the legacy era': ['2025-11-25', go('2025-11-25')],
};

describe('the official SDKs connect, list, call, read, get, answer a question, and cancel', () => {
  let server;
  before(async () => {
    server = await startPlatformServer({ SANDBOX_GRANTABLE_PATHS: root });
    await server.register({
      name: 'sdk',
      protocol: 'mcp',
      command: 'node',
      args: [here('..', 'fixtures', 'tools', 'conformance-server.mjs'), 'modern'],
      workingDir: root,
    });
  });
  after(() => server.stop());

  const cancelled = async () => {
    const { data } = await server.ask('tool-metrics/executions?tool=sdk__slow_compute');
    return data.filter(({ errorType }) => errorType === 'cancelled').length;
  };

  for (const [name, [revision, client]] of Object.entries(clients))
    it(
      name,
      { skip: client ? false : `NOT RUN: ${name.startsWith('Go') ? 'it needs go' : noVenv}` },
      async () => {
        const before = await cancelled();
        assert.deepEqual(await client(server), {
          revision,
          tools: true,
          called: 'This is a simple text response for testing.',
          read: 'This is the content of the static text resource.',
          prompt: 'This is a simple prompt for testing.',
          asked: 'The answer: action=accept, content={"response":"blue"}',
          left: true,
        });
        await until(async () => (await cancelled()) === before + 1, { what: 'the call to be cancelled' });
      },
    );
});
