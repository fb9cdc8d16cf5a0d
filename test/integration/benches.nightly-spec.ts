import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

// real: the benchmarks that put classes of the built server together by hand, and so go stale with a constructor. That
// they run is tested; what they measure is not.

const root = join(__dirname, '..', '..');

it.each(['breaker', 'cached-playbooks'])('the benchmark %s runs', async (name) => {
  const env = { ...process.env, BENCH_ROUNDS: '1', BENCH_SECONDS: '0.1', BENCH_WARM_UP: '0.1' };
  const bench = spawn(process.execPath, [join(root, 'test', 'bench', 'run.mjs'), name], { cwd: root, env });
  const [out, errors, [code]] = await Promise.all([
    text(bench.stdout),
    text(bench.stderr),
    once(bench, 'exit'),
  ]);
  expect({ code, ...(code !== 0 && { errors }) }).toEqual({ code: 0 });
  expect(out).toMatch(/\d (ns|µs|times)/);
});
