import { hourMs } from '../../../base/common/clock.js';

/** Max callers per tool and hour that are counted by name. */
const maxCallers = 200;

/** Limits the callers that are counted by name, per tool and hour. They are in memory, so a restart begins anew. */
export class CallerCap {
  /** The latest hour, as a number of hours since the epoch. */
  private hour = 0;
  /** Callers by hour and tool. */
  private readonly callers = new Map<string, Set<string>>();

  /** Notes a caller, if there is room. @param at milliseconds since the epoch @returns whether it is counted by name */
  admit(tool: string, caller: string, at: number): boolean {
    const hour = Math.floor(at / hourMs);
    if (hour > this.hour) this.callers.clear();
    this.hour = Math.max(this.hour, hour);
    const known = this.callers.get(`${hour} ${tool}`) ?? new Set();
    if (known.size < maxCallers) this.callers.set(`${hour} ${tool}`, known.add(caller));
    return known.has(caller);
  }
}
