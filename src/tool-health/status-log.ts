import type { HealthStatus } from './grading.js';

interface Noted {
  readonly status: HealthStatus;
  readonly since: number;
}

/** What noting a status brought to light. */
export interface StatusNote {
  /** When this status was first seen without another one since, milliseconds since 1970. */
  readonly since: number;
  /** The status before, when this is another one. */
  readonly changedFrom?: HealthStatus;
}

const maxNoted = 20_000;

/**
 * Since when tools have had their status, as far as anybody has looked: it may have been so before it was first seen.
 * In memory: a restart begins anew.
 */
export class StatusLog {
  private readonly noted = new Map<string, Noted>();

  /** @param kind of grade, such as its period: each has its own course */
  note(kind: string, tool: string, status: HealthStatus, at: number): StatusNote {
    const key = `${kind} ${tool}`;
    const before = this.noted.get(key);
    if (before?.status === status) return { since: before.since };
    // Far more tools than there are: most of them are gone.
    if (!before && this.noted.size >= maxNoted) this.noted.clear();
    this.noted.set(key, { status, since: at });
    return { since: at, ...(before && { changedFrom: before.status }) };
  }
}
