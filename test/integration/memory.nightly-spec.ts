import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { findCgroups } from '../../src/runtime/sandbox/cgroups.js';
import { startApp, type TestApp } from '../support/app.js';
import type { Json } from '../support/json.js';
import { makeTestFolder } from '../support/test-folder.js';
import { until } from '../support/wait.js';

// real: the server, its sandbox of every tier that this host has, with a cgroup if it may make one, tools; mock: nothing

const folder = makeTestFolder();
const python = join(folder, 'tool', 'hungry.py');
const node = join(folder, 'tool', 'hungry.mjs');
const file = join(folder, 'tool', 'large');
beforeAll(() => {
  mkdirSync(join(folder, 'tool'));
  for (const path of [python, node])
    copyFileSync(join(__dirname, '../fixtures/hostile', path.slice(join(folder, 'tool').length)), path);
  writeFileSync(file, Buffer.alloc(200 << 20, 'x'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A group of this test's own in each hierarchy, as an operator would delegate it. */
const group = `/toolkeeper-memory-spec-${process.pid}`;
const groups = ['memory', 'pids', 'cpu'].map((name) => `/sys/fs/cgroup/${name}${group}`);
function makeGroups(): boolean {
  try {
    for (const path of groups) mkdirSync(path);
    return findCgroups(group).bases.memory !== undefined;
  } catch {
    return false;
  }
}
const removeGroups = (): void => {
  for (const path of groups) {
    try {
      rmdirSync(path);
    } catch {
      // It was not made.
    }
  }
};
const hasGroups = makeGroups();
if (!hasGroups) {
  removeGroups();
  process.stdout.write('no cgroup can be made here: not tested with one\n');
}
afterAll(removeGroups);

const hasBubblewrap = spawnSync('bwrap', ['--version']).status === 0;
const modes = [
  { mode: 'tier 1', tier: 1, cgroup: false },
  ...(hasBubblewrap ? [{ mode: 'tier 2', tier: 2, cgroup: false }] : []),
  ...(hasBubblewrap && hasGroups ? [{ mode: 'with a cgroup', tier: 3, cgroup: true }] : []),
];

const overLimit = /^The tool was ended: it used \d+ MB of memory, more than 96 MB \(sandbox\.maxMemoryMB\)/;

describe.each(modes)('$mode', ({ tier, cgroup }) => {
  let tk: TestApp;
  beforeAll(async () => {
    tk = await startApp({
      SANDBOX_MAX_TIER: String(tier),
      SANDBOX: 'best-effort',
      SANDBOX_CGROUP: cgroup ? group : 'off',
      SANDBOX_PROCESSES: '512',
      SANDBOX_TEMPORARY_MB: '512',
      CIRCUIT_FAILURES: '1000',
    });
    const settings = { timeoutMs: 60_000, keepAlive: true };
    await tk.register('roomy', { command: '/usr/bin/python3', args: [python], ...settings });
    await tk.register('roomy_node', { command: 'node', args: [node], ...settings });
    const sandbox = { maxMemoryMB: 96 };
    await tk.register('small', { command: '/usr/bin/python3', args: [python], sandbox, ...settings });
    await tk.register('small_node', { command: 'node', args: [node], sandbox, ...settings });
  });
  afterAll(() => tk.close());

  it('limits memory, with a note unless a cgroup does', async () => {
    const { effectiveSandbox } = (await tk.http.get('/api/v1/custom-tools/small').expect(200)).body;
    expect(effectiveSandbox.enforced).toContain('maxMemoryMB');
    expect(effectiveSandbox.notes.maxMemoryMB).toEqual(
      cgroup ? undefined : expect.stringContaining('every 250 ms'),
    );
  });

  it.each([
    ['reserves four times its limit', 'roomy', { act: 'reserve', megabytes: 2_048 }],
    ['starts 200 threads', 'roomy', { act: 'threads', count: 200 }],
    ['starts 8 workers of Node', 'roomy_node', { act: 'workers', count: 8 }],
    ['reserves 8 memories of 4 GB', 'roomy_node', { act: 'wasm', count: 8 }],
    ['uses less than its limit', 'roomy', { act: 'use', megabytes: 400 }],
    ['reserves four times a small limit', 'small', { act: 'reserve', megabytes: 384 }],
    ['shares its memory with 8 children', 'small', { act: 'copies', megabytes: 60, count: 8 }],
    ['has children that use little', 'small', { act: 'many', megabytes: 10, count: 4 }],
    ['reads a file that is larger', 'small', { act: 'mapped', path: file }],
  ])('a tool that %s goes on', async (_what, name, input) => {
    const { body } = await tk.call(name, input).expect(200);
    expect(body).toMatchObject({ status: 'success', result: { done: true } });
  });

  it.each([
    ['fast', 'small', { act: 'use', megabytes: 300, per_second: 1_000 }],
    ['slowly', 'small', { act: 'use', megabytes: 160, per_second: 80 }],
    ['in a child', 'small', { act: 'child', megabytes: 200 }],
    ['in a child of a thread', 'small', { act: 'thread_child', megabytes: 200 }],
    ['in a session of its own', 'small', { act: 'session', megabytes: 200 }],
    ['in another program', 'small', { act: 'program', megabytes: 200 }],
    ['in an orphan', 'small', { act: 'orphan', megabytes: 200 }],
    ['in many children', 'small', { act: 'many', megabytes: 30, count: 8 }],
    ['in /dev/shm', 'small', { act: 'share', megabytes: 200 }],
    ['in the heap of Node', 'small_node', { act: 'heap', megabytes: 200 }],
  ])('a tool that uses more than it may, %s, is ended', async (_what, name, input) => {
    const { body } = await tk.call(name, input).expect(200);
    expect(body.result?.done).not.toBe(true);
    // Without bubblewrap a tool has neither sessions nor shared memory; a cgroup may end a child alone.
    const refused = tier === 1 && ['session', 'share'].includes(input.act);
    if (refused || (cgroup && body.error?.type !== 'tool_crashed')) return;
    expect(body.error.type).toBe('tool_crashed');
    expect(body.error.message).toMatch(
      cgroup ? /may use 96 MB of memory \(sandbox\.maxMemoryMB\)/ : overLimit,
    );
    expect(
      (await tk.call(name, { act: name === 'small' ? 'reserve' : 'wasm', megabytes: 1, count: 1 })).body,
    ).toMatchObject({
      status: 'success',
    });
  });

  it('a tool that uses more while no call runs is ended, and its log names the limit', async () => {
    const sandbox = { maxMemoryMB: 96 };
    await tk.register('idle', { command: '/usr/bin/python3', args: [python], sandbox, keepAlive: true });
    await tk.call('idle', { act: 'later', wait: 0.1, megabytes: 200 }).expect(200);
    const ended = async (): Promise<boolean> => {
      const { body } = await tk.http.get('/api/v1/custom-tools/idle/logs').expect(200);
      return (cgroup ? /SIGKILL|exit code 137/ : /more than 96 MB/).test(JSON.stringify(body));
    };
    await until(ended, { what: 'the end of the tool in its log' });
  });

  it('a tool that starts with more is refused with the limit', async () => {
    const tool = {
      name: 'big',
      command: '/usr/bin/python3',
      args: [python, '--big'],
      sandbox: { maxMemoryMB: 96 },
    };
    const { body } = await tk.http.post('/api/v1/custom-tools').send(tool).expect(400);
    expect(body.detail).toMatch(/96 MB.*\(sandbox\.maxMemoryMB\)/);
  });

  it.each([
    [133, '# Fatal process out of memory: Failed to reserve virtual memory for CodeRange'],
    [134, 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'],
    [256 + constants.signals.SIGABRT, "terminate called after throwing an instance of 'std::bad_alloc'"],
    [2, 'fatal error: runtime: out of memory'],
    [1, 'java.lang.OutOfMemoryError: Java heap space'],
  ])('a crash with exit code %i that says so names the setting', async (code, text) => {
    const { body }: { body: Json } = await tk.call('roomy', { act: 'say', text, code }).expect(200);
    expect(body.error.message).toMatch(/ \(This tool may use 512 MB of memory \(sandbox\.maxMemoryMB\)\)/);
  });
});
