import { crc32 } from 'node:zlib';
import type { ToolMetric } from '../tool-metric.entity.js';

type Identity = Pick<ToolMetric, 'metricId' | 'toolName' | 'userId'>;
type Circumstances = Pick<
  ToolMetric,
  'sessionId' | 'requestId' | 'investigationId' | 'runId' | 'parametersHash' | 'inputSize' | 'isTest'
>;

/** What is known of an execution before its tool hears of it. An absent member is the column's null, 0 or false. */
export type ExecutionStart = Identity &
  Partial<Circumstances> & {
    /** Milliseconds since 1970. */
    readonly startedAt: number;
    readonly metadata: ToolMetric['metadata'];
  };

/** What is known when it has ended. */
export type ExecutionEnd = Pick<ToolMetric, 'metricId' | 'status' | 'executionTimeMs'> &
  Partial<Pick<ToolMetric, 'errorType' | 'errorMessage' | 'toolFault' | 'outputSize' | 'metadata'>> & {
    /** Its place among the ends of this gateway, from 1 without gaps. */
    readonly place: number;
    /** Milliseconds since 1970. */
    readonly endedAt: number;
  };

/** One line of the journal. */
export type JournalEntry =
  | { readonly start: ExecutionStart }
  | { readonly end: ExecutionEnd }
  /** Started, then refused after all: there was no execution. */
  | { readonly discard: string };

const newline = 0x0a;
const checksumLength = 8;

/** `<CRC-32 of the JSON, 8 hexadecimal digits> <JSON>` and a line feed: damage costs the lines it hits, no more. */
export function encodeEntry(entry: JournalEntry): string {
  const json = JSON.stringify(entry);
  return `${crc32(json).toString(16).padStart(checksumLength, '0')} ${json}\n`;
}

/** @param line without its line feed. @returns undefined where the line is damaged */
export function decodeEntry(line: Buffer): JournalEntry | undefined {
  const json = line.subarray(checksumLength + 1);
  if (crc32(json) !== checksumOf(line)) return undefined;
  try {
    return JSON.parse(json.toString()) as JournalEntry;
  } catch {
    return undefined;
  }
}

/** Whole lines of a buffer and what is left of the last one. */
export function splitLines(buffer: Buffer): { readonly lines: Buffer[]; readonly rest: Buffer } {
  const lines: Buffer[] = [];
  let from = 0;
  for (let to = buffer.indexOf(newline); to >= 0; to = buffer.indexOf(newline, from)) {
    lines.push(buffer.subarray(from, to));
    from = to + 1;
  }
  return { lines, rest: buffer.subarray(from) };
}

function checksumOf(line: Buffer): number | undefined {
  const digits = line.toString('latin1', 0, checksumLength + 1);
  return /^[\da-f]{8} $/.test(digits) ? Number.parseInt(digits, 16) : undefined;
}
