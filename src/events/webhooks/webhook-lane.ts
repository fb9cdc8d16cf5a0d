import { setTimeout as delay } from 'node:timers/promises';
import { secretBytes, signatureHeaders } from './webhook-signature.js';

export interface LaneSettings {
  readonly url: string;
  readonly secret: string;
  /** Of one try. */
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** Messages that wait; beyond them the oldest is dropped. */
  readonly maxQueue: number;
  /** Before the second try at most; doubles with each. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export interface Message {
  readonly id: string;
  readonly body: string;
}

export type LaneReport = (result: 'delivered' | 'retried' | 'given_up' | 'dropped', why?: string) => void;

/**
 * The way to one receiver: messages go in the order in which they came, one at a time, each tried again until it is
 * taken or has had its tries. A receiver that is away holds up only its own lane.
 */
export class WebhookLane {
  private readonly waiting: Message[] = [];
  private readonly stopped = new AbortController();
  private readonly secret: Buffer;
  private running: Promise<void> | undefined;

  constructor(
    private readonly settings: LaneSettings,
    private readonly report: LaneReport,
    private readonly random: () => number = Math.random,
  ) {
    this.secret = secretBytes(settings.secret);
  }

  /** Messages that were not taken yet. */
  get depth(): number {
    return this.waiting.length;
  }

  send(message: Message): void {
    if (this.stopped.signal.aborted) return;
    if (this.waiting.length >= this.settings.maxQueue) {
      // Never the one under way: it may have arrived.
      this.waiting.splice(1, 1);
      this.report('dropped', 'too many wait');
    }
    this.waiting.push(message);
    this.running ??= this.run();
  }

  /** What is under way is cut off, what waits is dropped. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.running;
    for (const _message of this.waiting.splice(0)) this.report('dropped', 'the server stops');
  }

  private async run(): Promise<void> {
    for (let next = this.waiting[0]; next && !this.stopped.signal.aborted; next = this.waiting[0]) {
      if (!(await this.deliver(next))) break;
      this.waiting.shift();
    }
    this.running = undefined;
  }

  /** @returns false when the lane was stopped before the message had its tries */
  private async deliver(message: Message): Promise<boolean> {
    const { maxAttempts } = this.settings;
    for (let attempt = 1; ; attempt++) {
      const why = await this.try(message);
      if (this.stopped.signal.aborted && why !== undefined) return false;
      if (why === undefined || attempt >= maxAttempts) {
        this.report(why === undefined ? 'delivered' : 'given_up', why);
        return true;
      }
      this.report('retried', why);
      await delay(this.pauseAfter(attempt), undefined, { signal: this.stopped.signal }).catch(
        () => undefined,
      );
    }
  }

  /** Full jitter: many messages that failed together do not come back together. */
  private pauseAfter(attempt: number): number {
    const { firstPauseMs, longestPauseMs } = this.settings;
    return Math.ceil(this.random() * Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1)));
  }

  /** @returns why it was not taken */
  private async try({ id, body }: Message): Promise<string | undefined> {
    const { url, timeoutMs } = this.settings;
    const timestamp = Math.floor(Date.now() / 1_000);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...signatureHeaders(this.secret, { id, timestamp, body }),
        },
        body,
        // A redirect would send what is signed for one receiver to another.
        redirect: 'manual',
        signal: AbortSignal.any([this.stopped.signal, AbortSignal.timeout(timeoutMs)]),
      });
      // Its words are of no use, and may have no end.
      await response.body?.cancel();
      return response.ok ? undefined : `it answered ${response.status}`;
    } catch (error) {
      const { cause, message } = error as Error;
      return cause instanceof Error && cause.message ? cause.message : message;
    }
  }
}
