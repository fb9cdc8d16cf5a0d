import { hourMs } from '../../../base/common/clock.js';

/** Max callers per tool and hour that are counted by name. */
const maxCallers = 200;

/** Limits the callers that are counted by name. A restart begins anew, because they are in memory. */
export class CallerCap {
  private hour = 0;
  private readonly callers = new Map<string, Set<string>>();

  /** Notes a caller. @param at milliseconds since the epoch @returns false if the caller is beyond the cap */
  admits(tool: string, caller: string, at: number): boolean {
    const hour = Math.floor(at / hourMs);
    if (hour > this.hour) this.callers.clear();
    this.hour = Math.max(this.hour, hour);
    const known = this.callers.get(`${hour} ${tool}`) ?? new Set();
    if (known.size < maxCallers) this.callers.set(`${hour} ${tool}`, known.add(caller));
    return known.has(caller);
  }
}
