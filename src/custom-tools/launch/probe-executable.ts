import { type Launcher, launch } from '../../process-pool/launcher.js';
import {
  type Handshake,
  PoolFailure,
  type ProcessLimits,
  type ProcessSpec,
  type Reply,
} from '../../process-pool/pool.types.js';
import { PoolProcess } from '../../process-pool/pool-process.js';

/** The answers of an executable that can serve as a tool. */
export interface Probe {
  readonly handshake: Handshake;
  /** Absent where it left `health` unanswered: that is optional. */
  readonly health?: Reply;
}

/**
 * Starts an executable once, lets it answer `initialize`, sees with `health` that it is still there (any answer will
 * do, and none too), and stops it; for registration and validation. Resolves when the process is gone.
 * @param livesForMs a tool that leaves `health` unanswered this long is taken to be alive
 * @throws PoolFailure `spawn_failed` with one sentence that says what is wrong, and the end of its stderr in the notes
 */
export function probeExecutable(
  spec: ProcessSpec,
  limits: Omit<ProcessLimits, 'maxPendingInputBytes'>,
  launcher: Launcher = launch,
  livesForMs = 500,
): Promise<Probe> {
  const { promise, resolve, reject } = Promise.withResolvers<Probe>();
  let outcome: Probe | string = 'It was never ready';
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => process.stop('stop');
  const ask = (handshake: Handshake): void => {
    outcome = { handshake };
    process.send(
      'health',
      {},
      {
        answered: (health) => {
          outcome = { handshake, health };
          stop();
        },
        failed: (_reason, message, ending) => {
          // Stopped because it left `health` unanswered: that is no fault.
          if (ending?.reason === 'stop') return;
          outcome = `It answered "initialize", but then: ${message}`;
          stop();
        },
      },
    );
    timer = setTimeout(stop, livesForMs);
  };
  const process = new PoolProcess(spec, { ...limits, maxPendingInputBytes: 65_536 }, launcher, (event) => {
    if (event.type === 'ready') ask(event.handshake);
    else if (event.type === 'start_failed') outcome = event.error;
    else if (event.type === 'ended') {
      clearTimeout(timer);
      const { stderrTail } = event.ending;
      if (typeof outcome === 'string') reject(new PoolFailure('spawn_failed', outcome, { stderrTail }));
      else resolve(outcome);
    }
  });
  return promise;
}
