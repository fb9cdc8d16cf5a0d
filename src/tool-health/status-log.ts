import { LRUCache } from 'lru-cache';
import type { HealthStatus } from './grading.js';

interface Noted {
  readonly status: HealthStatus;
  readonly since: number;
}

/** The news that noting a status brought. */
export interface StatusNote {
  /** When this status was first seen without another one since, milliseconds since 1970. */
  readonly since: number;
  /** The status before, when this is another one. */
  readonly changedFrom?: HealthStatus;
}

/** Far more tools and periods than are followed: these are looked at every minute, and so stay. */
const maxNoted = 20_000;

/**
 * Since when tools have had their status, as far as anybody has looked: it may have been so before it was first seen.
 * In memory; the grade of the last hour is remembered across restarts (grade-history.ts).
 */
export class StatusLog {
  private readonly noted = new LRUCache<string, Noted>({ max: maxNoted });

  /** @param kind of grade, such as its period: each has its own course */
  note(kind: string, tool: string, status: HealthStatus, at: number): StatusNote {
    const key = `${kind} ${tool}`;
    const before = this.noted.get(key);
    if (before?.status === status) return { since: before.since };
    this.noted.set(key, { status, since: at });
    return { since: at, ...(before && { changedFrom: before.status }) };
  }
}
