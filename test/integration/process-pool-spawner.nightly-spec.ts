/**
 * Every spec of the process pool again, over processes that the spawner starts: the imports below register them
 * here. Their own files run them over processes that are started directly.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { launch } from '../../src/runtime/process-pool/launcher.js';
import { findSpawner } from '../../src/runtime/process-pool/spawner-client.js';
import { SpawnerClient } from '../../src/runtime/process-pool/spawner-client.js';
import { PoolLab } from '../fixtures/tools/pool-lab.js';
import '../../src/runtime/process-pool/cancel.spec.js';
import '../../src/runtime/custom-tools/launch/probe-executable.spec.js';
import '../../src/runtime/process-pool/notices.spec.js';
import '../../src/runtime/process-pool/output-reader.spec.js';
import '../../src/runtime/process-pool/process-pool.begin.spec.js';
import '../../src/runtime/process-pool/process-pool.spec.js';
import './process-pool.fairness.slow-spec.js';
import './process-pool.lifecycle.slow-spec.js';
import './process-pool.renewal.slow-spec.js';
import './process-pool.slow-spec.js';
import './protocol-attacks.slow-spec.js';

const spawner = new SpawnerClient({ binary: findSpawner(process.cwd()) ?? 'none' });

beforeAll(() => {
  PoolLab.launcher = spawner.launch;
});
afterAll(async () => {
  PoolLab.launcher = launch;
  expect(spawner.stats()).toMatchObject({ restarts: 0, waiting: 0, running: 0 });
  await spawner.close();
});

it('is every spec of the pool that starts processes', () => {
  const here = readFileSync(__filename, 'utf8');
  const starts = (file: string): boolean =>
    /new PoolLab\(\)|benchForEachTest\(\)/.test(readFileSync(file, 'utf8'));
  const starting = ['src/runtime/process-pool', 'test/integration']
    .flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)))
    .filter((file) => /process-pool.*(?<!nightly-)spec\.ts$/.test(file) && starts(file));
  expect(starting.filter((file) => !here.includes(`/${basename(file, '.ts')}.js'`))).toEqual([]);
  expect(starting.length).toBeGreaterThan(5);
});
