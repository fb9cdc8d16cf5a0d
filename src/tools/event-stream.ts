import { Readable } from 'node:stream';
import { sseComment, sseEvent, sseHeartbeat } from '../common/sse.js';
import type { ToolNotice } from '../tool-contract/tool-notice.js';

/** Bytes of notices that wait for a client that reads slowly, beside the 64 KiB of the stream itself. */
const maxWaitingBytes = 262_144;

interface WaitingNotice {
  readonly type: ToolNotice['type'];
  readonly text: string;
}

/**
 * One call as server-sent events. A client that reads too slowly loses notices, never the end: of progress the newest
 * is kept, of logs as many of the last as fit, and it is told how many are missing. Comments keep a quiet connection
 * open.
 */
export class EventStream extends Readable {
  private waiting: WaitingNotice[] = [];
  private waitingBytes = 0;
  private leftOut = 0;
  private isFull = false;
  private isOver = false;
  private readonly heartbeat: NodeJS.Timeout;

  constructor(heartbeatMs: number) {
    super({ highWaterMark: 65_536 });
    this.heartbeat = setInterval(() => {
      if (!this.isFull) this.put(sseHeartbeat);
    }, heartbeatMs);
    this.heartbeat.unref();
  }

  /** A line that clients skip. */
  comment(text: string): void {
    this.put(sseComment(text));
  }

  notice({ type, ...data }: ToolNotice): void {
    if (this.isOver || this.destroyed) return;
    const text = sseEvent({ event: type, data });
    if (this.isFull) this.wait({ type, text });
    else this.put(text);
  }

  /** The last event; what is said later goes nowhere. */
  finish(name: 'outcome' | 'problem', data: unknown): void {
    if (this.isOver || this.destroyed) return;
    this.flush(true);
    this.put(sseEvent({ event: name, data }));
    this.isOver = true;
    clearInterval(this.heartbeat);
    this.push(null);
  }

  override _read(): void {
    this.isFull = false;
    this.flush(false);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.heartbeat);
    this.waiting = [];
    done(error);
  }

  private put(text: string): void {
    if (!this.isOver && !this.destroyed) this.isFull = !this.push(text);
  }

  private wait(notice: WaitingNotice): void {
    if (notice.type === 'progress') this.takeOut(this.waiting.findIndex(({ type }) => type === 'progress'));
    this.waiting.push(notice);
    this.waitingBytes += notice.text.length;
    while (this.waitingBytes > maxWaitingBytes && this.waiting.length > 1) {
      this.takeOut(
        Math.max(
          0,
          this.waiting.findIndex(({ type }) => type === 'log'),
        ),
      );
      this.leftOut++;
    }
  }

  private takeOut(index: number): void {
    if (index < 0) return;
    for (const { text } of this.waiting.splice(index, 1)) this.waitingBytes -= text.length;
  }

  private flush(all: boolean): void {
    const missing = this.leftOut;
    if (missing > 0) {
      this.leftOut = 0;
      const message = `${missing} notices were left out: the client reads too slowly`;
      this.put(sseEvent({ event: 'log', data: { level: 'warn', message } }));
    }
    while (this.waiting.length > 0 && (all || !this.isFull)) {
      const [next] = this.waiting;
      this.takeOut(0);
      if (next) this.put(next.text);
    }
  }
}
