import { Injectable } from '@nestjs/common';
import type { Metric } from 'prom-client';

/** Health of one part of the server, with optional figures. Probes are public, so nothing in it may be secret. */
export interface PartHealth {
  readonly status: 'up' | 'degraded' | 'down';
  readonly message?: string;
  readonly [figure: string]: unknown;
}

/** Answers for one part; it must end by itself and must not throw. */
export type HealthCheck = () => PartHealth | Promise<PartHealth>;

/** The parts that rooms add to readiness and to /metrics. A new room registers itself here and touches neither. */
@Injectable()
export class Contributors {
  private readonly checks = new Map<string, HealthCheck>();
  private readonly samplers: (() => void)[] = [];

  /** `/readyz` shows the part under its name; a part that is `down` makes the server not ready. */
  addHealth(part: string, check: HealthCheck): void {
    this.checks.set(part, check);
  }

  /** Called before each scrape: the room sets the gauges whose values are asked for rather than counted. */
  addSampler(sample: () => void): void {
    this.samplers.push(sample);
  }

  health(): Iterable<[string, HealthCheck]> {
    return this.checks;
  }

  sample(): void {
    for (const sample of this.samplers) sample();
  }
}

/**
 * Removes a deleted tool's series (label `tool`): the number of series is bounded by the tools that exist. Called once
 * the tool's last process and call have ended, or a late count would bring a series back.
 */
export async function forgetTool(tool: string, metrics: readonly Metric[]): Promise<void> {
  for (const metric of metrics) {
    const { values } = await metric.get();
    const own = values.filter(({ labels }) => labels.tool === tool).map(({ labels }) => labels);
    for (const labels of own) {
      // A histogram lists each bucket; `le` is not among the labels that it is removed by.
      const { le: _bucket, ...series } = labels as Record<string, string | number>;
      metric.remove(series);
    }
  }
}
