/** `npm run chaos`: the long form. CHAOS_SEED, CHAOS_FAULTS and CHAOS_KINDS steer it (docs/chaos.md). */
import './typescript.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
await import('./chaos.ts');
