import { once } from 'node:events';
import type { PassThrough, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '../../base/common/json.js';
import { encodeNotification, encodeRequest } from '../process-pool/conversation.js';
import {
  clientCapabilities,
  clientInfo,
  discoverMs,
  enveloped,
  legacyRevisions,
  type McpPeer,
  versionMember,
} from './mcp-eras.js';

/** Whether a message is none of the modern era: a call without an envelope, or an answer to what the server asked. */
export const isOfTwin = (method: string | undefined, meta: object = {}): boolean =>
  method === undefined || (method === 'tools/call' && !(versionMember in meta));

/** A session with a server as its lines. */
interface Session {
  readonly stdin: Writable;
  readonly stdout: PassThrough;
  /** The id that the server gave it: without one the server cannot ask in it. */
  readonly session: string | undefined;
  once(event: 'exit', listener: () => void): unknown;
  kill(signal: NodeJS.Signals): void;
}

/** The modern session beside which it is. */
interface Beside {
  readonly stdout: Writable;
  readonly signal: AbortSignal;
  readonly end: () => void;
}

/**
 * The session of the legacy era with a server that speaks both. It carries calls whose caller is asked while they run, which
 * the modern era does not know, and begins with the first of them.
 */
export class LegacyTwin {
  private opened: Promise<Session | undefined> | undefined;

  /** @param begin makes a session, of which nothing has been said yet */
  constructor(
    private readonly peer: McpPeer,
    private readonly begin: () => Session,
    private readonly beside: Beside,
  ) {}

  /** @param otherwise gets the line in the modern era if the server has no such session */
  write(line: string, otherwise: (line: string) => void): void {
    void (this.opened ??= this.open()).then((session) => {
      if (session) return session.stdin.write(`${line}\n`);
      this.peer.speaksBoth = false;
      const { params = {}, ...message } = JSON.parse(line) as JsonObject;
      return otherwise(JSON.stringify({ ...message, params: enveloped(params as object) }));
    });
  }

  /** Cancels a call that was written, if any was. */
  cancel(requestId: string): void {
    const line = encodeNotification('notifications/cancelled', { requestId });
    void this.opened?.then((session) => session?.stdin.write(line));
  }

  private async open(): Promise<Session | undefined> {
    const session = this.begin();
    const { stdout, signal, end } = this.beside;
    signal.addEventListener('abort', () => session.kill('SIGTERM'));
    const ended = new Promise<[]>((resolve) => session.once('exit', () => resolve([])));
    const params = { protocolVersion: legacyRevisions[0], capabilities: clientCapabilities, clientInfo };
    session.stdin.write(encodeRequest('initialize', 'initialize', params));
    const [answer] = await Promise.race([
      once(session.stdout, 'data') as Promise<unknown[]>,
      ended,
      delay<[]>(discoverMs, [], { ref: false }),
    ]);
    if (!String(answer).includes('"result"') || session.session === undefined) {
      session.kill('SIGTERM');
      return undefined;
    }
    session.stdout.pipe(stdout, { end: false });
    void ended.then(end);
    session.stdin.write(encodeNotification('notifications/initialized', {}));
    return session;
  }
}
