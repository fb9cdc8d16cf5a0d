/** `npm run soak`: SOAK_MINUTES and SOAK_RATE steer it (docs/internals/chaos.md). */
import '../support/typescript.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
await import('./soak.ts');
