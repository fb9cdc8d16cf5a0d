import { Inject, Injectable } from '@nestjs/common';
import { SampleRing } from '../../base/outbound/breaker/sample-ring.js';
import { CLOCK, type Clock, hourMs } from '../../base/common/clock.js';
import type { ProblemCode } from '../../base/common/errors.js';
import { CallEvents } from '../../web/contract/call-events.js';
import type { RefusalCountView } from './tool-health.dto.js';

/** Refused calls of the last hour by tool and code, as this replica counts them. A refusal has no record to count. */
@Injectable()
export class RefusalCounts {
  private readonly byTool = new Map<string, Map<ProblemCode, SampleRing>>();

  constructor(
    calls: CallEvents,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    calls.subscribe('refused', ({ tool, refusal }) => this.count(tool, refusal.code));
  }

  /** Most frequent first. */
  of(tool: string): RefusalCountView[] {
    const now = this.clock.now();
    return [...(this.byTool.get(tool) ?? [])]
      .map(([code, ring]) => ({ code, count: ring.totals(now).calls }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => b.count - a.count);
  }

  private count(tool: string, code: ProblemCode): void {
    const rings = this.byTool.get(tool) ?? new Map<ProblemCode, SampleRing>();
    const ring = rings.get(code) ?? new SampleRing(hourMs);
    this.byTool.set(tool, rings.set(code, ring));
    ring.add(this.clock.now(), false);
  }
}
