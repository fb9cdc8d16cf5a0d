import { setImmediate as turn } from 'node:timers/promises';
import {
  findSemanticError,
  scannedLength,
  type SemanticFinding,
} from '../../../base/semantic-errors/find-semantic-error.js';
import { isSelfReported } from '../../../base/semantic-errors/self-reported.js';
import type { ToolMetric } from '../execution-record.js';

/** Max characters of all results that wait. */
const maxWaiting = 16_777_216;

/** Counts the characters of results that wait for the thread that searches them, because their memory must be limited. */
export class ResultBacklog {
  private readonly waiting: Int32Array;

  constructor(readonly memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.waiting = new Int32Array(memory);
  }

  /** Reserves room for a text. @returns false if there is no room */
  reserve(length: number): boolean {
    if (Atomics.load(this.waiting, 0) + length > maxWaiting) return false;
    Atomics.add(this.waiting, 0, length);
    return true;
  }

  /** Returns the room of a text that was searched. */
  release(length: number): void {
    Atomics.sub(this.waiting, 0, length);
  }

  /** Resets the count after the thread has died with its results. */
  clear(): void {
    Atomics.store(this.waiting, 0, 0);
  }
}

/** The beginning of a successful result, which is searched before its record is stored. */
export interface ResultToRead {
  readonly executionId: string;
  /** At most `readLength` characters. */
  readonly text: string;
  /** Whether a report of a failure is marked as a semantic failure. */
  readonly mark: boolean;
}

/** Max characters of a result that are searched. */
export const readLength = scannedLength;

/** The finding of an execution that is not stored yet. */
interface Found {
  readonly finding: SemanticFinding;
  /** Whether the execution is marked as semantic failure. */
  readonly isMarked: boolean;
}

/** Max findings that wait for their records. Further ones are dropped, if the database is unavailable for long. */
const maxFindings = 50_000;

/** Searches results in the drain's thread, and adds its findings to the records of their executions. */
export class ResultReader {
  private readonly found = new Map<string, Found>();
  private readonly backlog: ResultBacklog;

  constructor(memory: SharedArrayBuffer) {
    this.backlog = new ResultBacklog(memory);
    this.backlog.clear();
  }

  /** Searches a result. */
  read({ executionId, text, mark }: ResultToRead): void {
    this.backlog.release(text.length);
    const answer = withoutEnvelope(text);
    const finding = findSemanticError(answer);
    if (!finding || this.found.size >= maxFindings) return;
    this.found.set(executionId, { finding, isMarked: mark && isSelfReported(answer, finding) });
  }

  /** Resolves when the results of all known records are searched. Each is sent before its record. */
  async caughtUp(): Promise<void> {
    // Messages that have arrived are handled in the next turn at the latest.
    await turn();
    await turn();
  }

  /** The record with the finding of its result, if any. */
  complete(metric: ToolMetric): ToolMetric {
    const found = this.found.get(metric.metricId);
    if (!found) return metric;
    const { finding, isMarked } = found;
    return {
      ...metric,
      metadata: { ...metric.metadata, semanticError: finding },
      ...(isMarked && { semanticFailure: finding.snippet }),
    };
  }

  /** Removes the findings of stored records. */
  forget(ids: Iterable<string>): void {
    for (const id of ids) this.found.delete(id);
  }
}

/** Max characters of a message that is parsed. Of a longer one, the beginning is cut off by a pattern. */
const maxParsedLength = 8_192;
/** The beginning of a JSON-RPC message up to its result. */
const envelopePattern =
  /^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(?:"[^"]{0,80}"|\d{1,20})\s*,\s*"result"\s*:\s*/;

/** The result in a JSON-RPC message; another text unchanged. */
function withoutEnvelope(text: string): string {
  if (!text.includes('"jsonrpc"')) return text;
  try {
    const message = text.length <= maxParsedLength ? (JSON.parse(text) as { result?: unknown }) : {};
    if ('result' in message) return JSON.stringify(message.result) ?? '';
  } catch {
    // A text that is not JSON is searched unchanged.
  }
  return text.replace(envelopePattern, '');
}
