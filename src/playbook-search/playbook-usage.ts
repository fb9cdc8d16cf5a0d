import { type Clock, systemClock } from '../common/clock.js';
import { SampleRing } from '../circuits/breaker/sample-ring.js';

const windowMs = 3_600_000;

/** What was seen in the last hour; each 0 to 1, and 0 where nothing was seen. */
export interface PlaybookUsageSample {
  /** Of the investigations that called any tool, those that called a playbook tool. */
  readonly callRate: number;
  /** Of the calls of playbook tools, those that were answered from memory. */
  readonly cacheHitRate: number;
}

interface Investigation {
  /** When it last called a tool, and when a playbook tool; milliseconds since 1970. */
  calledAt: number;
  askedAt: number;
}

/** Who asks for playbooks, and how often memory answers, in the last hour. */
export class PlaybookUsage {
  private readonly investigations = new Map<string, Investigation>();
  private readonly calls = new SampleRing(windowMs);
  private readonly hits = new SampleRing(windowMs);

  constructor(
    /** Investigations looked at; beyond them the oldest are forgotten. */
    private readonly maxTracked: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /** @param asked a playbook tool was called */
  called(investigationId: string, asked: boolean): void {
    const now = this.clock.now();
    const known = this.investigations.get(investigationId);
    if (known) {
      known.calledAt = now;
      if (asked) known.askedAt = now;
      return;
    }
    if (this.investigations.size >= this.maxTracked) this.forgetOne();
    this.investigations.set(investigationId, { calledAt: now, askedAt: asked ? now : -Infinity });
  }

  /** A playbook tool was called. */
  asked(): void {
    this.calls.add(this.clock.now(), false);
  }

  /** Memory answered instead of a search. */
  hit(): void {
    this.hits.add(this.clock.now(), false);
  }

  sample(): PlaybookUsageSample {
    const now = this.clock.now();
    const since = now - windowMs;
    let asking = 0;
    for (const [id, { calledAt, askedAt }] of this.investigations) {
      if (calledAt < since) this.investigations.delete(id);
      else if (askedAt >= since) asking++;
    }
    return {
      callRate: share(asking, this.investigations.size),
      cacheHitRate: share(this.hits.totals(now).calls, this.calls.totals(now).calls),
    };
  }

  private forgetOne(): void {
    const [first] = this.investigations.keys();
    if (first !== undefined) this.investigations.delete(first);
  }
}

/** A hit may fall into a slice of the window that its call has left. */
const share = (part: number, whole: number): number => (whole === 0 ? 0 : Math.min(1, part / whole));
