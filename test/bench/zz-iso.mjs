import { benchPoolIsolation } from './pool-isolation.bench.mjs'; import { closeLauncher } from './pool-under-test.mjs';
await benchPoolIsolation(); await closeLauncher();
