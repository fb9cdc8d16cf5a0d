import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { startServer } = await import('../support/server-process.ts');

const started = [];

/** The built server, with the tools that ship, in a folder of its own. */
export function startPlatformServer(variables) {
  const server = start(variables);
  started.push(server);
  return server;
}

/** Stops those that still run: a run that a signal ends does not come to the `after` of its suites. */
export const stopAll = () => Promise.allSettled(started.map(async (server) => (await server).stop()));

async function start(variables) {
  const folder = mkdtempSync(join(tmpdir(), 'toolkeeper-platforms-'));
  const server = await startServer({
    PORT: '0',
    TOOLKEEPER_DATA_DIR: folder,
    CUSTOM_TOOLS_DIR: join(import.meta.dirname, '..', '..', 'tools', 'installed'),
    ...variables,
  });
  const { url, key } = server;
  /** @returns the body of an answer with this status */
  const ask = async (path, { method = 'GET', body, status = 200 } = {}) => {
    const headers = { ...key, ...(body && { 'content-type': 'application/json' }) };
    const answer = await fetch(`${url}/api/v1/${path}`, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    assert.equal(answer.status, status, text);
    return JSON.parse(text);
  };
  return {
    url,
    key,
    log: server.log,
    folder,
    ask,
    register: (tool) => ask('custom-tools', { method: 'POST', body: tool, status: 201 }),
    stop: async () => {
      await server.end('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
