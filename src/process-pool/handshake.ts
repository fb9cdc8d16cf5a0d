import { type Handshake, PoolFailure, type ProcessSpec, type Reply } from './pool.types.js';
import { launch } from './process-group.js';
import { ToolProcess } from './tool-process.js';
import type { Exchange, Launcher, ProcessLimits, ProcessObserver } from './tool-process.types.js';

/** Why an executable cannot serve as a tool. */
export class ProbeFailure extends PoolFailure {
  constructor(message: string, stderrTail: string) {
    super('spawn_failed', message, { stderrTail });
  }
}

/** What an executable said in its trial start. */
export interface Probed {
  readonly handshake: Handshake;
  /** Absent: it left `health` unanswered. */
  readonly health?: Reply;
}

/**
 * Starts an executable once, lets it answer `initialize`, sees with `health` that it is still there (any answer will
 * do, and none too), and stops it; for registration and validation. Resolves when the process is gone.
 * @param livesForMs a tool that leaves `health` unanswered this long is taken to be alive
 * @throws ProbeFailure with one sentence that says what is wrong, and the end of its stderr in `notes.stderrTail`
 */
export function probeExecutable(
  spec: ProcessSpec,
  limits: Omit<ProcessLimits, 'maxPendingInputBytes'>,
  launcher: Launcher = launch,
  livesForMs = 500,
): Promise<Probed> {
  return new Promise((resolve, reject) => {
    let outcome: Probed | string = 'It was never ready';
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => process.stop('stop');
    const ping: Exchange = {
      answered: (health) => {
        if (typeof outcome !== 'string') outcome = { ...outcome, health };
        stop();
      },
      failed: (_reason, message) => {
        outcome = `It answered "initialize", but then: ${message}`;
        stop();
      },
    };
    const observer: ProcessObserver = {
      ready: (handshake) => {
        outcome = { handshake };
        const id = process.send('health', {}, ping);
        timer = setTimeout(() => {
          process.forget(id);
          stop();
        }, livesForMs);
      },
      startFailed: (error) => {
        outcome = error;
      },
      noise: () => undefined,
      log: () => undefined,
      stderr: () => undefined,
      drained: () => undefined,
      broken: () => undefined,
      ended: ({ stderrTail }) => {
        clearTimeout(timer);
        if (typeof outcome === 'string') reject(new ProbeFailure(outcome, stderrTail));
        else resolve(outcome);
      },
    };
    const process = new ToolProcess(spec, { ...limits, maxPendingInputBytes: 65_536 }, observer, launcher);
  });
}
