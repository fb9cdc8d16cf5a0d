import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runningServer } from '../../src/base/common/server-file.js';
import { noPlaybooks } from '../support/playbooks-dir.js';
import { childrenOf, processesWith } from '../support/processes.js';
import { relayedClient, type RelayedClient } from '../support/mcp-relay.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: `toolkeeper mcp`, the servers that it starts with their embedded database, SIGKILL; mock: nothing

const root = makeTestFolder();
const data = join(root, 'data');
const variables = {
  TOOLKEEPER_DATA_DIR: data,
  PLAYBOOKS_DIR: noPlaybooks,
  // What tells these servers from others.
  CUSTOM_TOOLS_DIR: join(root, 'tools'),
};
const clients: RelayedClient[] = [];
const started = async (): Promise<RelayedClient> => {
  const made = await relayedClient(variables);
  clients.push(made);
  return made;
};
afterAll(async () => {
  await Promise.all(clients.map(({ client }) => client.close()));
  rmSync(root, { recursive: true, force: true });
});

const pid = (): number => Number.parseInt(runningServer(data)?.process ?? '0', 10);
const ended = (process: number): Promise<boolean> =>
  until(() => !processesWith('dist/src/main.js').includes(process), { what: `the end of ${process}` });
const names = async ({ client }: RelayedClient): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

it('two at once start one server, which ends with the one that started it; then the other starts its own', async () => {
  const both = await Promise.all([started(), started()]);
  const first = pid();
  expect(first).toBeGreaterThan(0);
  for (const each of both) expect(await names(each)).toContain('get_playbooks');
  expect(pid()).toBe(first);
  const [starter, user] = childrenOf(both[0].pid).includes(first) ? both : [both[1], both[0]];

  process.kill(starter.pid, 'SIGKILL');
  await ended(first);
  expect(await names(user)).toContain('get_playbooks');
  const second = pid();
  expect(second).not.toBe(first);
  await user.client.close();
  await ended(second);
});
