import type { Circus } from '@jest/types';
import { commandLineOf } from '../../src/base/common/process-identity.js';
import { childrenOf } from './processes.js';
import { until } from './wait.js';

// Tools of a server that is root run as users of their own: what tests make is open to them.
if (process.getuid?.() === 0) process.umask(0);

/**
 * A test file must end every process that it started. This is looked at when the file's own afterAll hooks have run,
 * which a hook registered here could not do: it would run before them.
 */
const before = new Set(childrenOf(process.pid));
const leaked = (): number[] => childrenOf(process.pid).filter((pid) => !before.has(pid));

// A package is loaded once per worker: jest-circus would add to the handlers of the worker's first file.
const handlers = Reflect.get(globalThis, Symbol.for('EVENT_HANDLERS')) as Circus.EventHandler[];
handlers.push(async (event, state) => {
  if (event.name !== 'run_finish') return;
  try {
    await until(() => leaked().length === 0, { timeoutMs: 60_000, what: 'the end of child processes' });
  } catch {
    const pids = leaked();
    const lines = pids.map((pid) => `  ${pid}: ${commandLineOf(pid).join(' ')}`);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    state.unhandledErrors.push(
      new Error(`This test file leaves child processes behind:\n${lines.join('\n')}`),
    );
  }
});
