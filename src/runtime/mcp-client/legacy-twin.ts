import { once } from 'node:events';
import type { PassThrough, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '../../base/common/json.js';
import { encodeNotification, encodeRequest } from '../process-pool/json-rpc.js';
import {
  clientCapabilities,
  clientInfo,
  discoverMs,
  enveloped,
  legacyRevisions,
  type McpPeer,
  versionMember,
} from './mcp-eras.js';

/** Whether a message belongs to the legacy era: a call without an envelope, or an answer to a server's request. */
export const belongsToLegacyEra = (method: string | undefined, meta: object = {}): boolean =>
  method === undefined || (method === 'tools/call' && !(versionMember in meta));

/** A session with a server, as streams of lines. */
interface Session {
  readonly stdin: Writable;
  readonly stdout: PassThrough;
  /** The id that the server assigned. Without one the server cannot send requests in the session. */
  readonly sessionId: string | undefined;
  once(event: 'exit', listener: () => void): unknown;
  kill(signal: NodeJS.Signals): void;
}

/** The modern session that the twin belongs to. */
interface ModernSession {
  readonly stdout: Writable;
  readonly signal: AbortSignal;
  readonly end: () => void;
}

/**
 * A session of the legacy era with a server that speaks both eras. It carries calls that ask their caller while they
 * run, which the modern era does not support, and is opened for the first of these calls.
 */
export class LegacyTwin {
  /** Resolves to undefined if the server has no legacy sessions; absent before the first call. */
  private session: Promise<Session | undefined> | undefined;

  /** @param newSession makes a session that is not initialized yet */
  constructor(
    private readonly peer: McpPeer,
    private readonly newSession: () => Session,
    private readonly modern: ModernSession,
  ) {}

  /**
   * Sends a call.
   * @param line without its newline
   * @param writeModern gets the call as a modern one if the server has no legacy session
   */
  write(line: string, writeModern: (line: string) => void): void {
    void (this.session ??= this.open()).then((session) => {
      if (session) return session.stdin.write(`${line}\n`);
      this.peer.speaksBoth = false;
      const { params = {}, ...message } = JSON.parse(line) as JsonObject;
      return writeModern(JSON.stringify({ ...message, params: enveloped(params as object) }));
    });
  }

  /** Cancels a call, unless the session was never opened. */
  cancel(requestId: string): void {
    const line = encodeNotification('notifications/cancelled', { requestId });
    void this.session?.then((session) => session?.stdin.write(line));
  }

  /** Opens the session. @returns undefined if the server has no legacy sessions in which it can send requests */
  private async open(): Promise<Session | undefined> {
    const session = this.newSession();
    const { stdout, signal, end } = this.modern;
    signal.addEventListener('abort', () => session.kill('SIGTERM'));
    const ended = new Promise<[]>((resolve) => session.once('exit', () => resolve([])));
    const params = { protocolVersion: legacyRevisions[0], capabilities: clientCapabilities, clientInfo };
    session.stdin.write(encodeRequest('initialize', 'initialize', params));
    const [answer] = await Promise.race([
      once(session.stdout, 'data') as Promise<unknown[]>,
      ended,
      delay<[]>(discoverMs, [], { ref: false }),
    ]);
    if (!String(answer).includes('"result"') || session.sessionId === undefined) {
      session.kill('SIGTERM');
      return undefined;
    }
    session.stdout.pipe(stdout, { end: false });
    void ended.then(end);
    session.stdin.write(encodeNotification('notifications/initialized', {}));
    return session;
  }
}
