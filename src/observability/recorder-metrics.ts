import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';

export interface RecorderSample {
  /** Ended executions whose rows are not in the database yet. */
  readonly depth: number;
  /** How long the oldest of them waits, in milliseconds. */
  readonly oldestMs: number;
  /** Of the journal, on the disk. */
  readonly bytes: number;
  readonly recorded: number;
  readonly dropped: number;
}

const nothing: RecorderSample = { depth: 0, oldestMs: 0, bytes: 0, recorded: 0, dropped: 0 };

/** How the recorder keeps up; asked of it when somebody scrapes. */
@Injectable()
export class RecorderMetrics {
  private source: () => RecorderSample = () => nothing;
  private readonly quarantinedTotal: Counter;
  private readonly damagedTotal: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = (name: string, help: string, value: (sample: RecorderSample) => number): void => {
      const sample = (): number => value(this.source());
      new Gauge({
        name: `toolkeeper_${name}`,
        help,
        registers,
        collect() {
          this.set(sample());
        },
      });
    };
    const counter = (name: string, help: string, value: (sample: RecorderSample) => number): void => {
      const sample = (): number => value(this.source());
      new Counter({
        name: `toolkeeper_${name}_total`,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(sample());
        },
      });
    };
    gauge('recorder_depth', 'Execution records that wait for the database', ({ depth }) => depth);
    gauge('recorder_oldest_seconds', 'How long the oldest of them waits', ({ oldestMs }) => oldestMs / 1_000);
    gauge('journal_bytes', 'Size of the journal of executions', ({ bytes }) => bytes);
    counter('recorder_recorded', 'Execution records stored', ({ recorded }) => recorded);
    counter('recorder_dropped', 'Executions that ran without a record', ({ dropped }) => dropped);
    this.quarantinedTotal = new Counter({
      name: 'toolkeeper_recorder_quarantined_total',
      help: 'Execution records that the database refused',
      registers,
    });
    this.damagedTotal = new Counter({
      name: 'toolkeeper_journal_damaged_lines_total',
      help: 'Lines of the journal that could not be read',
      registers,
    });
  }

  observe(source: () => RecorderSample): void {
    this.source = source;
  }

  quarantined(): void {
    this.quarantinedTotal.inc();
  }

  damaged(lines: number): void {
    this.damagedTotal.inc(lines);
  }
}
