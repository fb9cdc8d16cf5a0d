import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DrainLoop, type StartDrain } from '../../src/records/journal/drain-thread.js';
import { Journal } from '../../src/records/journal/journal.js';
import type { RecordSink } from '../../src/records/journal/journal-drain.js';
import {
  type ExecutionEnd,
  type ExecutionStart,
  metricOf,
  type ToolMetric,
} from '../../src/records/executions/execution-record.js';

const never = 2_000_000_000;

/** real: the journal, its files and its drain; in memory: the table. In this thread, and drained only when flushed. */
export class TestJournal extends Journal<ExecutionStart, ExecutionEnd> {
  readonly rows: ToolMetric[];
  readonly folder: string;

  constructor() {
    const folder = mkdtempSync(join(tmpdir(), 'journal-'));
    const rows: ToolMetric[] = [];
    super(
      {
        journalDir: folder,
        maxBytes: 8,
        durability: 'process',
        batchSize: 100,
        flushIntervalMs: never,
        drain: drainInto(rows),
      },
      () => undefined,
      () => Promise.resolve(),
    );
    this.rows = rows;
    this.folder = folder;
  }
}

function drainInto(rows: ToolMetric[]): StartDrain {
  const sink: RecordSink = {
    insert: async (records) => {
      for (const { id, start, end } of records) {
        rows.push(metricOf(id, start as ExecutionStart, end as ExecutionEnd | undefined));
      }
    },
    quarantine: () => Promise.reject(new Error('nothing is poison here')),
    isRecordFault: () => false,
  };
  return (orders, tell) => {
    const loop = new DrainLoop(orders, sink, tell);
    const running = loop.run();
    return {
      call: async (request) => {
        await loop.ask(request);
        if (request === 'finish') await running;
      },
      tell: () => undefined,
      stop: async () => void loop.ask('finish').catch(() => undefined),
    };
  };
}
