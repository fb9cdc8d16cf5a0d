import { Injectable } from '@nestjs/common';
import { InjectMetric, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import { Contributors } from '../observability/contributors.js';
import { ExecutionRecorder } from './execution-recorder.js';

export const recorderMetrics = [
  makeGaugeProvider({
    name: 'toolkeeper_recorder_depth',
    help: 'Execution records that wait for the database',
  }),
  makeGaugeProvider({
    name: 'toolkeeper_recorder_oldest_seconds',
    help: 'How long the oldest of them waits',
  }),
  makeGaugeProvider({ name: 'toolkeeper_journal_bytes', help: 'Size of the journal of executions' }),
  makeCounterProvider({ name: 'toolkeeper_recorder_recorded_total', help: 'Execution records stored' }),
  makeCounterProvider({
    name: 'toolkeeper_recorder_dropped_total',
    help: 'Executions that ran without a record: always 0, such calls are refused',
  }),
  makeCounterProvider({
    name: 'toolkeeper_recorder_quarantined_total',
    help: 'Execution records that the database refused',
  }),
  makeCounterProvider({
    name: 'toolkeeper_journal_damaged_lines_total',
    help: 'Lines of the journal that could not be read',
  }),
  makeCounterProvider({
    name: 'toolkeeper_journal_write_failures_total',
    help: 'Writes and syncs of the journal that failed',
  }),
];

/** Shows what the recorder is asked for at each scrape; what happens to its journal is counted by `JournalLog`. */
@Injectable()
export class RecorderSampler {
  constructor(
    contributors: Contributors,
    recorder: ExecutionRecorder,
    @InjectMetric('toolkeeper_recorder_depth') depth: Gauge,
    @InjectMetric('toolkeeper_recorder_oldest_seconds') oldest: Gauge,
    @InjectMetric('toolkeeper_journal_bytes') bytes: Gauge,
  ) {
    contributors.addSampler(() => {
      const state = recorder.state();
      depth.set(state.depth);
      oldest.set(state.oldestMs / 1_000);
      bytes.set(state.bytes);
    });
  }
}
