import type { AppConfig } from '../../../base/config/app-config.js';
import { type Launcher, launch } from '../../process-pool/launcher.js';
import {
  type Dialect,
  type Handshake,
  PoolFailure,
  type ProcessLimits,
  type ProcessNews,
  type ProcessSpec,
  type Reply,
} from '../../process-pool/pool.types.js';
import { PoolProcess } from '../../process-pool/pool-process.js';

/** The answers of an executable that can serve as a tool. */
export interface Probe {
  readonly handshake: Handshake;
  /** Absent if it left `health` unanswered: that is optional. */
  readonly health?: Reply;
}

/** Limits of a process that hold for a test start as well as in a pool. @param dialect of an MCP server */
export const processLimits = (
  {
    startTimeoutMs,
    stopGraceMs,
    stderrBytes,
    maxOutputBytes,
    outputLinesPerSecond,
  }: AppConfig['customTools'],
  dialect: Dialect | undefined,
) => ({
  startTimeoutMs,
  stopGraceMs,
  stderrBytes,
  maxLineBytes: maxOutputBytes,
  linesPerSecond: outputLinesPerSecond,
  ...(dialect && { dialect }),
});

interface ProbeOptions {
  /** A tool that leaves `health` unanswered this long is taken to be alive. */
  readonly livesForMs?: number;
  /** Gets what it writes meanwhile. */
  readonly onNews?: ((news: ProcessNews) => void) | undefined;
}

/**
 * Starts an executable once, lets it answer `initialize`, sees with `health` that it is still there (any answer will
 * do, and none too), and stops it; for registration and validation. Resolves when the process is gone.
 * @throws PoolFailure `spawn_failed` with the reason in one sentence and the end of stderr in the notes
 */
export function probeExecutable(
  spec: ProcessSpec,
  limits: Omit<ProcessLimits, 'maxPendingInputBytes'>,
  launcher: Launcher = launch,
  { livesForMs = 500, onNews = () => undefined }: ProbeOptions = {},
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
      onNews({ type: 'terminate', pid: process.pid ?? 0, ...event.ending });
      const { stderrTail } = event.ending;
      if (typeof outcome === 'string') reject(new PoolFailure('spawn_failed', outcome, { stderrTail }));
      else resolve(outcome);
    } else if (event.type !== 'drained') onNews({ ...event, pid: process.pid ?? 0 });
  });
  return promise;
}
