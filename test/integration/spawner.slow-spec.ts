import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findSpawner } from '../../src/runtime/process-pool/spawner-client.js';
import { PoolLab } from '../fixtures/tools/pool-lab.js';
import { startApp, type TestApp } from '../support/app.js';
import { built } from '../support/built.js';
import { childrenOf } from '../support/processes.js';
import { until } from '../support/wait.js';

const root = process.cwd();

describe('a gateway that is killed', () => {
  const lab = new PoolLab();
  const shell = (script: string) => ({ ...lab.spec(['-c', script], '/bin/bash'), cwd: '/' });

  it('leaves no process behind, whatever its tools do about it', async () => {
    const tools = [
      shell('cat'),
      shell('trap "" TERM HUP; while :; do sleep 1000; done'),
      shell(`setsid sh -c 'trap "" TERM HUP; sleep 1000; true' & sleep 1000`),
      shell(`setsid sh -c 'setsid sleep 1000 & exit' & exec sleep 1000`),
    ];
    const client = join(built(), 'dist/src/runtime/process-pool/spawner-client.js');
    const script = join(root, 'test/fixtures/spawner-gateway.mjs');
    const gateway = spawn(
      process.execPath,
      [script, client, findSpawner(root) ?? '', JSON.stringify(tools)],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [line] = (await once(createInterface(gateway.stdout), 'line')) as [string];
    const { spawner } = JSON.parse(line) as { spawner: number };
    await until(() => lab.alive().length >= 7, { what: 'all of them to run' });
    gateway.kill('SIGKILL');
    await until(() => lab.alive().length === 0, { what: `the end of ${lab.alive().join(', ')}` });
    await until(() => !readdirSync('/proc').includes(String(spawner)), { what: 'the end of the spawner' });
  });
});

describe('the server', () => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp();
  });
  afterAll(() => test.close());

  const scrape = async (name: string) => {
    const { text } = await test.http.get('/metrics').expect(200);
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };
  const instance = async (): Promise<string> => {
    const { body } = await test.call('through_spawner', { action: 'count' }).expect(200);
    expect(body).toMatchObject({ status: 'success', result: { instance: expect.any(String) } });
    return body.result.instance;
  };
  const spawners = () =>
    childrenOf(process.pid).filter((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('spawner-'));

  it('starts tools through one spawner, and replaces it when it is killed', async () => {
    // Its process and, where it is sandboxed, those that build the sandbox.
    const marked = new PoolLab();
    await test.register('through_spawner', { keepAlive: true, env: { MARK: marked.mark } });
    const [spawner = NaN, ...others] = spawners();
    expect(others).toEqual([]);
    const first = await instance();
    const processes = marked.alive();
    expect(processes.filter((pid) => childrenOf(spawner).includes(pid))).toHaveLength(1);
    expect(await scrape('toolkeeper_spawner_up')).toBe(1);
    process.kill(spawner, 'SIGKILL');
    const left = (): number[] => marked.alive().filter((pid) => processes.includes(pid));
    await until(() => left().length === 0, { what: 'the end of its tool' });
    await until(async () => (await instance()) !== first, { what: 'another process of the tool' });
    expect(spawners()).toHaveLength(1);
    expect(await scrape('toolkeeper_spawner_restarts_total')).toBe(1);
  });
});
