import type { AppConfig } from '../../../base/config/app-config.js';
import type { Exchange } from '../../process-pool/conversation.js';
import { launch, type Launcher } from '../../process-pool/launcher.js';
import { PoolProcess } from '../../process-pool/pool-process.js';
import {
  type Dialect,
  type Handshake,
  PoolFailure,
  type ProcessLimits,
  type ProcessNews,
  type ProcessSpec,
  type Reply,
} from '../../process-pool/pool.types.js';

/** The answers of an executable that can serve as a tool. */
export interface Probe {
  readonly handshake: Handshake;
  /** The answer to `health`; absent if there was none, because it is optional. */
  readonly health?: Reply;
}

/** Limits of a process, for a single start and for a pool. @param dialect of an MCP server */
export const processLimits = (limits: AppConfig['customTools'], dialect: Dialect | undefined) => ({
  startTimeoutMs: limits.startTimeoutMs,
  stopGraceMs: limits.stopGraceMs,
  stderrBytes: limits.stderrBytes,
  maxLineBytes: limits.maxOutputBytes,
  linesPerSecond: limits.outputLinesPerSecond,
  ...(dialect && { dialect }),
});

/** Max bytes of requests that the process has not read yet: more than the two small ones of a probe. */
const maxProbeInputBytes = 65_536;

interface ProbeOptions {
  /** Time to answer `health`. A tool that does not answer is stopped and counts as alive. */
  readonly healthMs?: number;
  /** Receives its output and its end. */
  readonly onNews?: ((news: ProcessNews) => void) | undefined;
}

/**
 * Starts an executable once, waits for its answer to `initialize`, sends `health` (any answer will do, and none too), and
 * stops it; for registration and validation. Resolves when the process is gone.
 * @throws PoolFailure `spawn_failed` with the reason in one sentence and the end of stderr in the notes
 */
export function probeExecutable(
  spec: ProcessSpec,
  limits: Omit<ProcessLimits, 'maxPendingInputBytes'>,
  launcher: Launcher = launch,
  { healthMs = 500, onNews }: ProbeOptions = {},
): Promise<Probe> {
  const { promise, resolve, reject } = Promise.withResolvers<Probe>();
  /** The answers so far, or why the start failed. */
  let outcome: Probe | string = 'It was never ready';
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => child.stop('stop');
  const askForHealth = (handshake: Handshake): void => {
    outcome = { handshake };
    const exchange: Exchange = {
      answered: (health) => {
        outcome = { handshake, health };
        stop();
      },
      failed: (_reason, message, ending) => {
        // It was stopped because it did not answer `health`, which is no fault.
        if (ending?.reason === 'stop') return;
        outcome = `It answered "initialize", but then: ${message}`;
        stop();
      },
    };
    child.send('health', {}, exchange);
    timer = setTimeout(stop, healthMs);
  };
  const child = new PoolProcess(
    spec,
    { ...limits, maxPendingInputBytes: maxProbeInputBytes },
    launcher,
    (event) => {
      if (event.type === 'ready') askForHealth(event.handshake);
      else if (event.type === 'start_failed') outcome = event.error;
      else if (event.type === 'ended') {
        clearTimeout(timer);
        onNews?.({ type: 'terminate', pid: child.pid ?? 0, ...event.ending });
        const { stderrTail } = event.ending;
        if (typeof outcome === 'string') reject(new PoolFailure('spawn_failed', outcome, { stderrTail }));
        else resolve(outcome);
      } else if (event.type !== 'drained') onNews?.({ ...event, pid: child.pid ?? 0 });
    },
  );
  return promise;
}
