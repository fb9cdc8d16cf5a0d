/**
 * Every spec of the process pool again, over processes that the spawner starts: the imports below register them
 * here. Their own files run them over processes that are started directly.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch } from '../../src/runtime/process-pool/launcher.js';
import { findSpawner } from '../../src/runtime/process-pool/spawner-client.js';
import { SpawnerClient } from '../../src/runtime/process-pool/spawner-client.js';
import { PoolLab } from '../fixtures/tools/pool-lab.js';
import '../../src/runtime/process-pool/cancel.spec.js';
import '../../src/runtime/custom-tools/launch/probe-executable.spec.js';
import '../../src/runtime/process-pool/notices.spec.js';
import '../../src/runtime/process-pool/output-reader.spec.js';
import '../../src/runtime/process-pool/process-pool.spec.js';
import './process-pool.fairness.slow-spec.js';
import '../../src/runtime/process-pool/process-pool.lifecycle.spec.js';
import './process-pool.renewal.slow-spec.js';
import './process-pool.slow-spec.js';
import './protocol-attacks.spec.js';

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
  const folder = join(process.cwd(), 'src/runtime/process-pool');
  const here = readFileSync(__filename, 'utf8');
  const starts = (file: string): boolean =>
    /new PoolLab\(\)|benchForEachTest\(\)/.test(readFileSync(join(folder, file), 'utf8'));
  const starting = readdirSync(folder).filter((file) => file.endsWith('.spec.ts') && starts(file));
  expect(starting.filter((file) => !here.includes(`/${file.replace(/ts$/, 'js')}'`))).toEqual([]);
  expect(starting.length).toBeGreaterThan(5);
});
