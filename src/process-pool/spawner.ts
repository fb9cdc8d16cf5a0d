import { randomBytes } from 'node:crypto';
import { type LinkOptions, SpawnerLink } from './spawner-link.js';
import type { ToolReply } from './spawner-protocol.js';

/** So many spawners in a row that died before they worked are enough. */
const mostFailures = 3;
const failurePauseMs = 100;

export interface SpawnerObserver {
  /** A spawner works and takes requests; the first one, or one in place of another. */
  ready(): void;
  reply(reply: ToolReply): void;
  /** A spawner has died, and its tools with it. What it was asked and did not answer stays unanswered. */
  lost(pid: number | undefined, why: string): void;
  /** None can be had here; the last that is said. */
  unusable(why: string): void;
}

/** A spawner that is always there: one that dies is replaced at once. */
export class Spawner {
  private readonly mark = newMark();
  private link: SpawnerLink | undefined;
  private failures = 0;
  private pause: NodeJS.Timeout | undefined;
  private closing: Promise<void> | undefined;
  private closed: () => void = () => undefined;
  private started = false;
  /** Spawners that took the place of one that died. */
  restarts = 0;

  constructor(
    private readonly options: LinkOptions,
    private readonly observer: SpawnerObserver,
  ) {}

  /** It takes requests. */
  get ready(): boolean {
    return this.link?.ready === true && this.link.alive;
  }

  get pid(): number | undefined {
    return this.link?.pid;
  }

  /** Starts it, once. */
  start(): void {
    if (this.started || this.closing) return;
    this.started = true;
    this.open();
  }

  send(frame: Buffer): void {
    this.link?.send(frame);
  }

  /** Whether it owes an answer: it must not hang over it. */
  owes(anything: boolean): void {
    if (this.ready) this.link?.expectReply(anything);
  }

  /** It ends every tool and everything below them, then itself; resolves when it is gone. */
  close(): Promise<void> {
    this.closing ??= new Promise((resolve) => {
      this.closed = resolve;
      clearTimeout(this.pause);
      if (this.link) this.link.close();
      else resolve();
    });
    return this.closing;
  }

  private open(): void {
    const link: SpawnerLink = new SpawnerLink(this.options, this.mark, {
      reply: (reply) => this.observer.reply(reply),
      ready: () => {
        this.failures = 0;
        this.observer.ready();
      },
      ended: (why) => this.ended(link, why),
    });
    this.link = link;
  }

  private ended({ pid, ready }: SpawnerLink, why: string): void {
    this.link = undefined;
    if (this.closing) {
      this.observer.lost(pid, why);
      return this.closed();
    }
    if (!ready && ++this.failures >= mostFailures) return this.observer.unusable(why);
    this.restarts++;
    // One that worked is replaced before anybody hears of its death.
    if (ready) this.open();
    else this.pause = setTimeout(() => this.open(), failurePauseMs * this.failures);
    this.observer.lost(pid, why);
  }
}

/** Far above every limit that a system sets; a tool's is this plus its id, so the lower half is free. */
function newMark(): string {
  return `2${randomBytes(4).toString('hex').slice(1)}00000000`;
}
