import { LRUCache } from 'lru-cache';
import type { HealthStatus } from './grading.js';

interface Noted {
  readonly status: HealthStatus;
  /** Milliseconds since 1970; null: it was never anything but unknown. */
  readonly since: number | null;
}

/** The change that a noted status made. */
interface StatusNote {
  readonly since: number | null;
  /** The status before, if this is another one. */
  readonly changedFrom?: HealthStatus;
}

/** Far more tools than are followed: these are looked at every minute, and so stay. */
const maxNoted = 20_000;

/** Since when tools have their grade of the last hour. In memory; grade-history.ts keeps it across restarts. */
export class StatusLog {
  private readonly noted = new LRUCache<string, Noted>({ max: maxNoted });

  /** @param first when the calls of a first grade begin: it counts from there, any other one from now */
  note(tool: string, status: HealthStatus, now: number, first = now): StatusNote {
    const before = this.noted.get(tool) ?? { status: 'unknown', since: null };
    if (before.status === status) return { since: before.since };
    const since = before.since === null ? first : now;
    this.noted.set(tool, { status, since });
    return { since, changedFrom: before.status };
  }
}
