import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';

export interface RecorderSample {
  /** Records that are not yet in the database. */
  readonly depth: number;
  readonly recordedTotal: number;
  readonly lostTotal: number;
}

/** How the recorder keeps up; asked of it when somebody scrapes. */
@Injectable()
export class RecorderMetrics {
  private source: () => RecorderSample = () => ({ depth: 0, recordedTotal: 0, lostTotal: 0 });

  constructor(registry: Registry) {
    const sample = (): RecorderSample => this.source();
    const registers = [registry];
    new Gauge({
      name: 'toolkeeper_recorder_depth',
      help: 'Execution records that wait for the database',
      registers,
      collect() {
        this.set(sample().depth);
      },
    });
    new Counter({
      name: 'toolkeeper_recorder_recorded_total',
      help: 'Execution records stored',
      registers,
      collect() {
        this.reset();
        this.inc(sample().recordedTotal);
      },
    });
    new Counter({
      name: 'toolkeeper_recorder_lost_total',
      help: 'Execution records that could not be stored',
      registers,
      collect() {
        this.reset();
        this.inc(sample().lostTotal);
      },
    });
  }

  observe(source: () => RecorderSample): void {
    this.source = source;
  }
}
