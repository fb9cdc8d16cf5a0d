import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startNamesRelay } from './names-relay.mjs';
import { startPlatformServer } from './platform-server.mjs';

// real: the built server, MCP's own SDK as a server behind it, HTTP, the suite; mock: nothing

const suite = join(import.meta.dirname, 'node_modules', '.bin', 'conformance');
const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const fixture = join(root, 'test', 'fixtures', 'tools', 'conformance-server.mjs');
/** Revisions of the suite's client, and the arguments by which the server behind this one speaks the same. */
const revisions = { '2025-11-25': [], '2026-07-28': ['modern'] };
/**
 * Scenarios of extensions, by the era of the server behind: before 2026-07-28 it says which of its tools run as tasks, since
 * then its tools ask in rounds. A frozen list names them at most to report them, and its run does not fail with them.
 */
const extensions = {
  '2025-11-25': [
    ...['enumeration', 'manifest', 'directory'].map((part) => `sep-2640-skills-${part}`),
    ...['lifecycle', 'capability-negotiation', 'wire-fields', 'request-state-removal', 'request-headers'].map(
      (part) => `tasks-${part}`,
    ),
    ...['dispatch-and-envelope', 'status-notifications', 'required-task-error'].map(
      (part) => `tasks-${part}`,
    ),
  ],
  '2026-07-28': ['tasks-mrtr-input', 'tasks-mrtr-composition'],
};

/** The suite asks the server itself; in a chain it asks one whose upstream is a second one, which has the fixtures. */
const isChain = import.meta.url.endsWith('?chain');
const expected = join(import.meta.dirname, `expected-failures${isChain ? '-chain' : ''}.yaml`);

for (const [revision, args] of Object.entries(revisions))
  describe(`the conformance suite of MCP, revision ${revision}${isChain ? ', two in a row' : ''}`, () => {
    const servers = [];
    let server;
    let relay;
    const started = async (upstream) => {
      const next = await startPlatformServer({
        SANDBOX_GRANTABLE_PATHS: root,
        PLAYBOOKS_DIR: join(root, 'playbooks'),
      });
      servers.push(next);
      const { data: own } = await next.ask('tools?limit=500');
      await next.register({
        protocol: 'mcp',
        // Calls of it may take longer than clients wait: they are tasks for those that know tasks.
        ...(revision === '2026-07-28' && { timeoutMs: 120_000 }),
        ...upstream,
      });
      return [next, own.map(({ name }) => name)];
    };
    before(async () => {
      const program = { command: 'node', args: [fixture, ...args], workingDir: root };
      let names;
      [server, names] = await started({ name: 'fixtures', ...program });
      if (isChain) {
        const { url, key } = server;
        const headers = { authorization: '${KEY}' };
        const env = { KEY: key.authorization };
        [server, names] = await started({ name: 'second', url: `${url}/mcp`, headers, env });
      }
      relay = await startNamesRelay(server.url, `${isChain ? 'second__' : ''}fixtures__`, names);
    });
    after(async () => {
      relay?.closeAllConnections();
      relay?.close();
      await Promise.all(servers.map((each) => each.stop()));
    });

    /** Prints the summary; it fails if anything fails that is not expected to. */
    const ask = async (...options) => {
      const url = `http://127.0.0.1:${relay.address().port}/mcp`;
      const asked = [suite, 'server', '--url', url, ...options, '--expected-failures', expected];
      const maxBuffer = 64 * 1_024 ** 2;
      const ended = run(process.execPath, asked, { cwd: server.folder, maxBuffer });
      const { stdout } = await ended.catch((error) => {
        throw new Error(error.stdout.slice(-8_000));
      });
      console.log(stdout.slice(stdout.indexOf('=== SUMMARY')));
    };

    it('what the revision requires of a server', () => ask('--requirements', revision));

    for (const scenario of extensions[revision])
      it(`what the extension requires: ${scenario}`, () =>
        ask('--scenario', scenario, '--spec-version', '2026-07-28', '--force'));
  });
