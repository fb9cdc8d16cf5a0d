import { Injectable } from '@nestjs/common';

/** Health of one part of the server, with optional figures. Probes are public, so nothing in it may be secret. */
export interface PartHealth {
  readonly status: 'up' | 'degraded' | 'down';
  readonly message?: string;
  readonly [figure: string]: unknown;
}

/** Checks one part. It must end by itself and must not throw. */
type HealthCheck = () => PartHealth | Promise<PartHealth>;

/** Health checks and metric samplers, which modules register for readiness and /metrics. */
@Injectable()
export class Contributors {
  private readonly checks = new Map<string, HealthCheck>();
  private readonly samplers: (() => void)[] = [];

  /** Adds a health check. `/readyz` shows the part under its name; a part that is `down` makes the server not ready. */
  addHealth(part: string, check: HealthCheck): void {
    this.checks.set(part, check);
  }

  /** Adds a function that sets gauges before each scrape. */
  addSampler(sample: () => void): void {
    this.samplers.push(sample);
  }

  /** The health checks by their parts' names. */
  health(): Iterable<[string, HealthCheck]> {
    return this.checks;
  }

  /** Calls all samplers. */
  sample(): void {
    for (const sample of this.samplers) sample();
  }
}
