import { quoted } from '../../common/quoted.js';
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

/** What the journal is told. */
export type JournalEntry =
  | { readonly start: ExecutionStart }
  | { readonly end: ExecutionEnd }
  /** Started, then refused after all: there was no execution. */
  | { readonly discard: string };

/** An entry's JSON, without a line feed. */
export function encodeEntry(entry: JournalEntry): string {
  if ('start' in entry) return `{"start":${startJson(entry.start)}}`;
  if ('end' in entry) return `{"end":${endJson(entry.end)}}`;
  return `{"discard":${quoted(entry.discard)}}`;
}

/** What JSON.stringify would write, member by member in a third of its time. Our own ids and hashes need no escapes. */
function startJson(start: ExecutionStart): string {
  return (
    `{"metricId":"${start.metricId}","toolName":${quoted(start.toolName)},"userId":${quoted(start.userId)}` +
    text(',"sessionId":', start.sessionId) +
    text(',"requestId":', start.requestId) +
    text(',"investigationId":', start.investigationId) +
    text(',"runId":', start.runId) +
    (start.parametersHash ? `,"parametersHash":"${start.parametersHash}"` : '') +
    plain(',"inputSize":', start.inputSize) +
    plain(',"isTest":', start.isTest) +
    `,"startedAt":${start.startedAt},"metadata":${flatJson(start.metadata)}}`
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
    (end.metadata ? `,"metadata":${flatJson(end.metadata)}` : '') +
    `,"endedAt":${end.endedAt},"place":${end.place}}`
  );
}

const text = (name: string, value: string | null | undefined): string =>
  value === undefined || value === null ? '' : name + quoted(value);

const plain = (name: string, value: number | boolean | null | undefined): string =>
  value === undefined || value === null ? '' : `${name}${value}`;

/** What JSON.stringify would write, sooner for the few short members that nearly every record has. */
function flatJson(record: Readonly<Record<string, unknown>>): string {
  let members = '';
  for (const name in record) {
    const json = memberJson(record[name]);
    if (json !== undefined) members += `${members === '' ? '' : ','}${quoted(name)}:${json}`;
  }
  return `{${members}}`;
}

function memberJson(value: unknown): string | undefined {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean' || Number.isFinite(value)) return String(value);
  return value === undefined ? undefined : JSON.stringify(value);
}

export function isEntry(value: unknown): value is JournalEntry {
  if (typeof value !== 'object' || value === null) return false;
  const { start, end, discard } = value as {
    start?: Partial<ExecutionStart>;
    end?: unknown;
    discard?: unknown;
  };
  if (start) return typeof start.metricId === 'string' && typeof start.toolName === 'string';
  return typeof discard === 'string' || (typeof end === 'object' && end !== null);
}
