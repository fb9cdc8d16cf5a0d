/**
 * `npm run chaos`: the long form; `npm run chaos -- recording`: that of the recording; `npm run chaos -- data-storage`:
 * that of the client that finds playbooks elsewhere. CHAOS_SEED, CHAOS_FAULTS and CHAOS_KINDS
 * steer them (docs/internals/chaos.md).
 */
import '../support/typescript.mjs';

// Tools of a server that is root run as users of their own: the drills' folders are open to them.
if (process.getuid?.() === 0) process.umask(0);
process.chdir(new URL('../..', import.meta.url).pathname);
const [, , suite] = process.argv;
if (suite === 'recording') await import('./recording/recording.ts');
else if (suite === 'data-storage') await import('./data-storage/data-storage.ts');
else if (suite === undefined) await import('./chaos.ts');
else throw new Error(`There is no chaos of ${suite}; known are: recording, data-storage`);
