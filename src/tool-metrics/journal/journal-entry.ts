import { crc32 } from 'node:zlib';
import { hex8 } from '../../common/hex.js';
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
  const json = jsonOf(entry);
  return `${hex8(crc32(json))} ${json}\n`;
}

function jsonOf(entry: JournalEntry): string {
  if ('start' in entry) return `{"start":${startJson(entry.start)}}`;
  if ('end' in entry) return `{"end":${endJson(entry.end)}}`;
  return `{"discard":${quote(entry.discard)}}`;
}

/** What JSON.stringify would write, member by member in a third of its time. Our own ids and hashes need no escapes. */
function startJson(start: ExecutionStart): string {
  return (
    `{"metricId":"${start.metricId}","toolName":${quote(start.toolName)},"userId":${quote(start.userId)}` +
    text(',"sessionId":', start.sessionId) +
    text(',"requestId":', start.requestId) +
    text(',"investigationId":', start.investigationId) +
    text(',"runId":', start.runId) +
    (start.parametersHash ? `,"parametersHash":"${start.parametersHash}"` : '') +
    plain(',"inputSize":', start.inputSize) +
    plain(',"isTest":', start.isTest) +
    `,"startedAt":${start.startedAt},"metadata":${JSON.stringify(start.metadata)}}`
  );
}

/** As `startJson`. */
function endJson(end: ExecutionEnd): string {
  return (
    `{"metricId":"${end.metricId}","status":"${end.status}","executionTimeMs":${end.executionTimeMs}` +
    text(',"errorType":', end.errorType) +
    text(',"errorMessage":', end.errorMessage) +
    plain(',"toolFault":', end.toolFault) +
    plain(',"outputSize":', end.outputSize) +
    (end.metadata ? `,"metadata":${JSON.stringify(end.metadata)}` : '') +
    `,"endedAt":${end.endedAt},"place":${end.place}}`
  );
}

const text = (name: string, value: string | null | undefined): string =>
  value === undefined || value === null ? '' : name + quote(value);

const plain = (name: string, value: number | boolean | null | undefined): string =>
  value === undefined || value === null ? '' : `${name}${value}`;

/** Ids and names need no escapes; looking costs less than the engine's serialiser does to begin. */
const quote = (value: string): string =>
  /^[\w.:@/+=-]*$/.test(value) ? `"${value}"` : JSON.stringify(value);

/** @param line without its line feed. @returns undefined where the line is damaged */
export function decodeEntry(line: Buffer): JournalEntry | undefined {
  const json = line.subarray(checksumLength + 1);
  if (crc32(json) !== checksumOf(line)) return undefined;
  try {
    const entry: unknown = JSON.parse(json.toString());
    return isEntry(entry) ? entry : undefined;
  } catch {
    return undefined;
  }
}

/** A checksum tells damage; it does not tell what another version wrote. */
function isEntry(value: unknown): value is JournalEntry {
  if (typeof value !== 'object' || value === null) return false;
  const { start, end, discard } = value as {
    start?: Partial<ExecutionStart>;
    end?: unknown;
    discard?: unknown;
  };
  if (start) return typeof start.metricId === 'string' && typeof start.toolName === 'string';
  return typeof discard === 'string' || (typeof end === 'object' && end !== null);
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
