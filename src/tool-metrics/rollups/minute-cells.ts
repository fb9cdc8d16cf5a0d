import type { MetricColumns } from '../insert-parameters.js';
import { latencyBucket, latencyEntries } from './latency-histogram.js';

const minuteMs = 60_000;
/** Characters of an error type that cells keep apart. */
const keptOfErrorType = 100;

/** What executions add to the cells of one minute. Durations and times in milliseconds, sizes in bytes. */
interface MinuteCell {
  readonly minute: number;
  readonly toolName: string;
  readonly status: string;
  readonly errorType: string;
  readonly isTest: boolean;
  calls: number;
  totalMs: number;
  minMs: number;
  maxMs: number;
  inputBytes: number;
  outputBytes: number;
  lastAt: number;
  /** Executions of each bucket of duration. */
  readonly latency: Map<number, number>;
}

/**
 * Counts executions by minute and key, as `minutesOfRows` does in the database.
 * @returns column by column, in the order of `minutesOfParameters`
 */
export function minuteColumns(columns: MetricColumns) {
  const cells = [...minuteCells(columns)];
  return {
    minute: cells.map((cell) => cell.minute),
    toolName: cells.map((cell) => cell.toolName),
    status: cells.map((cell) => cell.status),
    errorType: cells.map((cell) => cell.errorType),
    isTest: cells.map((cell) => cell.isTest),
    calls: cells.map((cell) => cell.calls),
    totalMs: cells.map((cell) => cell.totalMs),
    minMs: cells.map((cell) => cell.minMs),
    maxMs: cells.map((cell) => cell.maxMs),
    inputBytes: cells.map((cell) => cell.inputBytes),
    outputBytes: cells.map((cell) => cell.outputBytes),
    lastAt: cells.map((cell) => cell.lastAt),
    latency: cells.map((cell) => `\\x${latencyEntries(cell.latency).toString('hex')}`),
  };
}

function minuteCells(columns: MetricColumns): Iterable<MinuteCell> {
  const cells = new Map<string, MinuteCell>();
  for (const [at, recordedAt] of columns.recordedAt.entries()) {
    const minute = Math.floor(recordedAt / minuteMs) * minuteMs;
    const toolName = columns.toolName[at] ?? '';
    const status = columns.status[at] ?? '';
    const errorType = shortened(columns.errorType[at] ?? '');
    const isTest = columns.isTest[at] ?? false;
    // NUL stands in no storable text.
    const key = `${minute}\0${toolName}\0${status}\0${errorType}\0${isTest}`;
    let cell = cells.get(key);
    if (!cell) cells.set(key, (cell = emptyCell({ minute, toolName, status, errorType, isTest })));
    cell.calls += 1;
    cell.lastAt = Math.max(cell.lastAt, recordedAt);
    cell.inputBytes += columns.inputSize[at] ?? 0;
    cell.outputBytes += columns.outputSize[at] ?? 0;
    addDuration(cell, columns.executionTimeMs[at] ?? 0);
  }
  return cells.values();
}

const emptyCell = (
  key: Pick<MinuteCell, 'minute' | 'toolName' | 'status' | 'errorType' | 'isTest'>,
): MinuteCell => ({
  ...key,
  calls: 0,
  totalMs: 0,
  minMs: Infinity,
  maxMs: 0,
  inputBytes: 0,
  outputBytes: 0,
  lastAt: -Infinity,
  latency: new Map(),
});

function addDuration(cell: MinuteCell, durationMs: number): void {
  cell.totalMs += durationMs;
  cell.minMs = Math.min(cell.minMs, durationMs);
  cell.maxMs = Math.max(cell.maxMs, durationMs);
  const bucket = latencyBucket(durationMs);
  cell.latency.set(bucket, (cell.latency.get(bucket) ?? 0) + 1);
}

/** As the database's left(): counted in code points. */
const shortened = (errorType: string): string =>
  errorType.length > keptOfErrorType ? Array.from(errorType).slice(0, keptOfErrorType).join('') : errorType;
