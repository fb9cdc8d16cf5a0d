import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import { processesWith } from '../support/processes.js';
import { until } from '../support/wait.js';

// real: the server in every tier that this host has, tools that leave processes behind, by every way that was thought of

const hostile = join(__dirname, '..', 'fixtures', 'hostile', 'hostile.py');
const tiers = spawnSync('bwrap', ['--version']).status === 0 ? [0, 1, 2] : [0, 1];
const ways = ['forked twice', 'cloned for the parent', 'marked otherwise', 'with the pipes of the tool'];

describe.each(tiers)('with tier %i at most', (maxTier) => {
  let tk: TestApp;
  beforeAll(async () => {
    tk = await startApp({ SANDBOX_MAX_TIER: String(maxTier), SANDBOX: 'best-effort' });
  });
  afterAll(() => tk.close());

  const register = (name: string, mark: string): Promise<void> =>
    tk.register(name, {
      command: '/usr/bin/python3',
      args: [hostile, mark],
      keepAlive: true,
      maxRetries: 0,
    });
  const remove = (name: string) => tk.http.delete(`/api/v1/custom-tools/${name}`).expect(204);

  it.each(ways)('a process %s ends with its tool', async (how) => {
    const mark = `survivor_${process.pid}_${maxTier}_${ways.indexOf(how)}`;
    await register('survived', `${mark}_tool`);
    const { body } = await tk
      .call('survived', { act: 'survivor', how, name: `${mark}_child`, seconds: 120 })
      .expect(200);
    expect(body).toMatchObject({ status: 'success', result: { done: true } });
    await until(() => processesWith(`${mark}_child`).length > 0, { what: 'the process' });
    await remove('survived');
    await until(() => processesWith(mark).length === 0, { what: 'the end of all' });
  });

  it('300 processes at once are refused, or end with the deadline of the call; others are answered meanwhile', async () => {
    const mark = `bomb_${process.pid}_${maxTier}`;
    await register('bomber', `${mark}_tool`);
    await register('neighbour', `${mark}_neighbour`);
    const input = { act: 'bomb', name: `${mark}_child`, count: 300, seconds: 120 };
    const bombed = tk.call('bomber', input, { timeoutMs: 15_000 }).expect(200);
    const outcome = bombed.then(({ body }) => body);
    await until(() => processesWith(`${mark}_child`).length > 20, { what: 'the processes' });
    const { body } = await tk.call('neighbour', { act: 'read', path: hostile }).expect(200);
    expect(body).toMatchObject({ status: 'success', result: { done: true } });
    const { status, result } = await outcome;
    // A tool that is a user of its own meets the limit on processes, and answers so.
    if (status === 'success') {
      expect(result).toMatchObject({ done: false, error: expect.stringMatching('BlockingIOError') });
      await remove('bomber');
    } else expect(status).toMatch(/timeout|error/);
    await until(() => processesWith(`${mark}_child`).length === 0, { what: 'the end of all' });
  });
});
