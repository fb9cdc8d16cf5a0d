import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server, MCP's own reference servers as its tools, their sandbox, MCP's client, signals; mock: nothing

const { nodeProcessesWith } = await import('../support/processes.ts');
const { until } = await import('../support/wait.ts');

const program = (name) =>
  realpathSync(join(import.meta.dirname, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`));
const textOf = ({ content }) => content.map(({ text }) => text).join('');

/**
 * The servers' registrations, and calls in their order with what stands in the answer. The tool of the last call is
 * killed in mid-call; then `other`, of the same server, has to answer. `ready` answers so once the server has asked its own
 * questions.
 * @param granted a folder that they may write to
 */
const serversOf = (granted) => ({
  everything: {
    calls: [
      ['get-tiny-image', {}, ({ content }) => assert.ok(content.some(({ type }) => type === 'image'))],
      [
        'get-structured-content',
        { location: 'New York' },
        ({ structuredContent }) => assert.equal(typeof structuredContent.temperature, 'number'),
      ],
      ['echo', { message: 'grüße' }, (result) => assert.match(textOf(result), /grüße/)],
    ],
    other: ['get-sum', { a: 2, b: 40 }, (result) => assert.match(textOf(result), /42/)],
  },
  filesystem: {
    // The roots that it asks for take the place of its argument.
    args: ['/usr'],
    calls: [
      ['write_file', { path: `${granted}/note`, content: 'kept' }, ({ isError }) => assert.ok(!isError)],
      ['read_text_file', { path: `${granted}/note` }, (result) => assert.match(textOf(result), /kept/)],
    ],
    ready: ['list_allowed_directories', {}, (result) => assert.ok(textOf(result).endsWith(granted))],
    other: ['list_directory', { path: granted }, (result) => assert.match(textOf(result), /note/)],
  },
  memory: {
    env: { MEMORY_FILE_PATH: `${granted}/memory.jsonl` },
    calls: [
      [
        'create_entities',
        { entities: [{ name: 'disk', entityType: 'part', observations: ['is full'] }] },
        ({ structuredContent }) => assert.equal(structuredContent.entities.length, 1),
      ],
      ['read_graph', {}, (result) => assert.match(textOf(result), /is full/)],
    ],
    other: ['search_nodes', { query: 'disk' }, (result) => assert.match(textOf(result), /is full/)],
  },
  'sequential-thinking': {
    calls: [
      [
        'sequentialthinking',
        { thought: 'Look', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
        ({ structuredContent }) => assert.equal(structuredContent.thoughtHistoryLength, 1),
      ],
    ],
  },
});

/** The strongest tier without bubblewrap, and the strongest of all. */
const tiers = spawnSync('bwrap', ['--version']).status === 0 ? [1, 3] : [1];

for (const tier of tiers) {
  describe(`the reference servers of MCP as tools, in the sandbox of tier ${tier} at most`, () => {
    const granted = realpathSync(mkdtempSync(join(tmpdir(), 'toolkeeper-granted-')));
    // Under root tools are users of their own.
    chmodSync(granted, 0o777);
    let server;
    let client;
    before(async () => {
      server = await startPlatformServer({
        SANDBOX_MAX_TIER: String(tier),
        SANDBOX_GRANTABLE_PATHS: granted,
      });
      client = new Client({ name: 'test', version: '1.0.0' });
      const requestInit = { headers: server.key };
      await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.url), { requestInit }));
    });
    after(async () => {
      await client.close();
      await server.stop();
      rmSync(granted, { recursive: true });
    });

    const inFlight = async (tool) =>
      (await (await fetch(`${server.url}/metrics`, { headers: server.key })).text()).includes(
        `toolkeeper_calls_in_flight{tool="${tool}"} 1`,
      );
    const runningProcess = async (name) => {
      const isReady = async () => (await server.ask(`custom-tools/${name}/health`)).processes.idle > 0;
      await until(isReady, { what: 'a process that waits for calls' });
      return nodeProcessesWith(program(name))[0];
    };

    for (const [name, { args = [], env = {}, ready, calls, other }] of Object.entries(serversOf(granted))) {
      const call = ([tool, input]) => client.callTool({ name: `${name}__${tool}`, arguments: input });
      const check = async (asked) => (asked[2](await call(asked)), true);
      const [victim] = calls.at(-1);

      it(`server-${name} is registered, sandboxed, listed, called and measured`, async () => {
        const registered = await server.register({
          name,
          protocol: 'mcp',
          command: 'node',
          args: [program(name), ...args],
          workingDir: import.meta.dirname,
          env,
          sandbox: { allowedPaths: [granted] },
          permissions: { canWriteFiles: true },
        });
        const { effectiveSandbox } = registered;
        assert.ok(effectiveSandbox.tier >= (tier === 1 ? 1 : 2) && effectiveSandbox.tier <= tier);
        const { data: reviews } = await server.ask(`custom-tools/${name}/tools`);
        assert.deepEqual(
          reviews.filter(({ state }) => state !== 'callable'),
          [],
        );
        const { tools } = await client.listTools();
        const listed = tools.filter((tool) => tool.name.startsWith(`${name}__`));
        assert.equal(listed.length, reviews.filter(({ tool }) => !tool.includes('/')).length);
        if (ready) await until(() => check(ready), { what: 'all that it asks for before' });
        for (const asked of calls) await check(asked);
        const stats = await until(
          async () => {
            const found = await server.ask(`tool-metrics/stats/${name}__${victim}`);
            return found.totalCalls > 0 && found;
          },
          { what: 'the record' },
        );
        assert.equal(stats.successCount, stats.totalCalls);
      });

      it(`server-${name} that is killed in mid-call is cut off, with the tool that was called alone`, async () => {
        for (let n = 0; n < 5; n++) {
          const pid = await runningProcess(name);
          process.kill(pid, 'SIGSTOP');
          const cut = call(calls.at(-1));
          await until(() => inFlight(`${name}__${victim}`), { what: 'the call' });
          process.kill(pid, 'SIGKILL');
          assert.match(textOf(await cut), /^tool_crashed/);
        }
        assert.match(textOf(await call(calls.at(-1))), /^circuit_open/);
        if (other) await until(() => check(other), { what: 'an answer of the next process' });
      });
    }

    it('what a server was not granted its sandbox refuses, whatever the server would do', async () => {
      const registered = await server.register({
        name: 'reader',
        protocol: 'mcp',
        command: 'node',
        args: [program('filesystem'), '/etc'],
        workingDir: import.meta.dirname,
      });
      assert.ok(registered.effectiveSandbox.enforced.includes('canReadFiles'));
      const result = await client.callTool({
        name: 'reader__read_text_file',
        arguments: { path: '/etc/shadow' },
      });
      assert.match(textOf(result), /EACCES|ENOENT/);
    });
  });
}
