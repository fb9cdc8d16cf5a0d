import { setImmediate as turn } from 'node:timers/promises';
import {
  findSemanticError,
  scannedLength,
  type SemanticFinding,
} from '../../../base/semantic-errors/find-semantic-error.js';
import { isSelfReported } from '../../../base/semantic-errors/self-reported.js';
import type { ToolMetric } from '../execution-record.js';

/** Characters of results that may wait to be read, in all. */
const most = 16_777_216;

/**
 * Counts what waits for the thread that reads results: shared with it, so that results that come faster than they are
 * read take no more memory than this.
 */
export class ResultBacklog {
  private readonly waiting: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.waiting = new Int32Array(memory);
  }

  /** @returns whether there is room for a text of this length */
  take(length: number): boolean {
    if (Atomics.load(this.waiting, 0) + length > most) return false;
    Atomics.add(this.waiting, 0, length);
    return true;
  }

  done(length: number): void {
    Atomics.sub(this.waiting, 0, length);
  }

  /** Results that were given to a thread that died are lost. */
  clear(): void {
    Atomics.store(this.waiting, 0, 0);
  }
}

/** The beginning of a successful result, to be read before its record is written. */
export interface ResultToRead {
  readonly executionId: string;
  /** At most `readLength` characters. */
  readonly text: string;
  /** A report of a failure is marked as one. */
  readonly mark: boolean;
}

/** Characters of a result that are read. */
export const readLength = scannedLength;

interface Found {
  readonly finding: SemanticFinding;
  readonly marked: boolean;
}

/** Findings that wait for their records; during a long time without a database some are dropped. */
const maxFindings = 50_000;

/** Reads results in the drain's thread, and gives its findings to the records of their executions. */
export class ResultReader {
  private readonly found = new Map<string, Found>();
  private readonly backlog: ResultBacklog;

  constructor(memory: SharedArrayBuffer) {
    this.backlog = new ResultBacklog(memory);
    this.backlog.clear();
  }

  read({ executionId, text, mark }: ResultToRead): void {
    this.backlog.done(text.length);
    const answer = withoutEnvelope(text);
    const finding = findSemanticError(answer);
    if (!finding || this.found.size >= maxFindings) return;
    this.found.set(executionId, { finding, marked: mark && isSelfReported(answer, finding) });
  }

  /** Resolves when every result has been read whose record is known here: it was sent before the record was written. */
  async caughtUp(): Promise<void> {
    // The turn that runs may be past its messages: the next one is not.
    await turn();
    await turn();
  }

  /** The record with what was found in its result. */
  complete(metric: ToolMetric): ToolMetric {
    const found = this.found.get(metric.metricId);
    if (!found) return metric;
    const { finding, marked } = found;
    return {
      ...metric,
      metadata: { ...metric.metadata, semanticError: finding },
      ...(marked && { semanticFailure: finding.snippet }),
    };
  }

  /** Their records are written. */
  forget(ids: Iterable<string>): void {
    for (const id of ids) this.found.delete(id);
  }
}

const maxParsedLength = 8_192;
const envelope =
  /^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(?:"[^"]{0,80}"|\d{1,20})\s*,\s*"result"\s*:\s*/;

/** A process writes its result into a JSON-RPC message. */
function withoutEnvelope(text: string): string {
  if (!text.includes('"jsonrpc"')) return text;
  try {
    const message = text.length <= maxParsedLength ? (JSON.parse(text) as { result?: unknown }) : {};
    if ('result' in message) return JSON.stringify(message.result) ?? '';
  } catch {
    // Read as it is.
  }
  return text.replace(envelope, '');
}
