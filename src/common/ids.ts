import { randomUUID } from 'node:crypto';
import { hex4, hex8 } from './hex.js';

/**
 * A UUIDv7: unique, and sorted by the millisecond of its making (`at`, since 1970). Node keeps random bytes for randomUUID ahead, which
 * makes this 20 times cheaper than drawing them for each id.
 */
export function newId(at = Date.now()): string {
  return `${timeText(at)}-7${randomUUID().slice(15)}`;
}

function timeText(at: number): string {
  const high = Math.floor(at / 0x1_00_00);
  return `${hex8(high)}-${hex4(at - high * 0x1_00_00)}`;
}

/** When an id of `newId` was made, milliseconds since 1970; undefined for ids of other kinds. */
export function timeOfId(id: string): number | undefined {
  return id.charAt(14) === '7' ? parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}

/**
 * Ids as `newId` makes them, for the hot path: a counter of 40 bits stands where others are random, which takes a fifth of
 * the time. No two of a sequence are alike, whatever the clock does; 34 random bits and where the counter began tell
 * sequences apart that count in the same millisecond.
 */
export class IdSequence {
  private readonly random = randomUUID();
  private readonly variant = this.random.charAt(19);
  private readonly end = this.random.slice(28);
  private high = parseInt(this.random.slice(0, 6), 16);
  private low = parseInt(this.random.slice(9, 13), 16);
  private middle = this.middleOf(this.high);
  private at = 0;
  private time = '';

  next(at = Date.now()): string {
    if (at !== this.at) {
      this.at = at;
      this.time = timeText(at);
    }
    this.low = (this.low + 1) & 0xffff;
    if (this.low === 0) this.middle = this.middleOf(++this.high);
    return this.time + this.middle + hex4(this.low) + this.end;
  }

  private middleOf(high: number): string {
    const digits = hex8(high).slice(2);
    return `-7${digits.slice(0, 3)}-${this.variant}${digits.slice(3)}-`;
  }
}

const requestIdPattern = /^[\w.:@/+=-]{1,128}$/;

export class RequestIds {
  private readonly own = new IdSequence();

  /** @returns the caller's request id where it is safe to log and to echo, else a new one */
  from(header: string | string[] | undefined): string {
    return typeof header === 'string' && requestIdPattern.test(header) ? header : this.own.next();
  }
}
