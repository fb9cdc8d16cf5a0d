import { setImmediate as nextTurn } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import { KeyedMutex } from '../../../base/common/keyed-mutex.js';
import { messageOf } from '../../../base/common/message-of.js';
import { answerCalls, tellOwner } from '../../../base/common/worker-calls.js';
import { drainThread } from '../../journal/drain-thread.js';
import { Journal, type JournalNews, type JournalSettings, type JournalState } from '../../journal/journal.js';
import type { SinkSettings } from '../../journal/table-sink.js';
import type { SpanRow } from '../span-row.js';
import { type ReportedFailure, reportedFailure } from './failures.js';
import { type IncomingBatch, type ReadSpan, RejectedSpan, TooLarge } from './incoming-span.js';
import { type IngestScope, normaliseSpan } from './normalise-span.js';
import { spansInJson } from './otlp-json.js';
import { spansInProtobuf } from './otlp-protobuf.js';
import { spansInVllora } from './vllora-spans.js';

/** Max objects and lists of a batch in JSON: parsed, small ones take fifty times the memory of their text. */
const maxStructures = 500_000;
const openBrace = '{'.charCodeAt(0);
const openBracket = '['.charCodeAt(0);
/** Max bytes of an inflated body that is read at once. Larger ones wait for each other, so that one is in memory at a time. */
const maxSmallBytes = 1_048_576;
/** A batch is read in turns of this length, between which other batches get theirs. */
const turnMs = 20;
/** Max time for all turns of a batch: the exporters' usual timeout. Later spans are rejected. */
const maxMs = 10_000;
/** Characters of attributes after which a turn ends. */
const turnChars = 1_048_576;
/** Max failures reported per batch, because they are sent to the main thread as one message. */
const maxReported = 1_000;

/** A request's body as it was received, and its owner. */
export interface SpanBatch {
  readonly format: 'otlp-json' | 'otlp-protobuf' | 'vllora';
  readonly gzip: boolean;
  readonly body: Uint8Array;
  readonly project: string;
  readonly keyId: string | null;
  readonly clientId: string | null;
}

/** The result of a batch: the number of its spans that were taken and rejected; or a refusal, if none was taken. */
export type Intake =
  | {
      readonly taken: number;
      readonly rejected: number;
      /** Why one of the rejected spans was rejected; or a remark on the batch. */
      readonly reason?: string;
      /** Failures of executions that the taken spans report. */
      readonly failures?: readonly ReportedFailure[];
    }
  | Refused;

/** A batch of which no span was taken. */
interface Refused {
  readonly refused: 'spans_full' | 'payload_too_large' | 'invalid_request';
  readonly detail: string;
}

const refusedAsUnwritable: Refused = {
  refused: 'spans_full',
  detail: 'The journal of spans cannot be written (TOOLKEEPER_DATA_DIR)',
};

/** Limits of the intake. */
interface IntakeSettings {
  /** Max bytes of the journal on the disk. */
  readonly maxJournalBytes: number;
  /** Max bytes of an inflated body. */
  readonly maxInflatedBytes: number;
  readonly retentionDays: number;
}

/** The thread's settings: its worker data. */
export interface IngestOrders {
  readonly journal: Omit<JournalSettings, 'drain'>;
  readonly sink: SinkSettings;
  readonly intake: IntakeSettings;
}

/** Requests of the main thread. Each opens the journal first, whose drain then stores spans that an earlier gateway left. */
export type IngestRequest =
  | { readonly ask: 'open' | 'flush' }
  | { readonly ask: 'close'; readonly withinMs: number }
  | { readonly ask: 'take'; readonly batch: SpanBatch };

/** Reports to the main thread. */
export type IngestNews = { readonly state: JournalState } | { readonly news: JournalNews };

/** The reader of each format. */
const decoders: Readonly<Record<SpanBatch['format'], (body: Uint8Array) => IncomingBatch>> = {
  'otlp-json': (body) => spansInJson(jsonIn(body)),
  'otlp-protobuf': spansInProtobuf,
  vllora: (body) => spansInVllora(jsonIn(body)),
};

/** Reads batches and appends their spans to the spans' journal, from which a drain moves them to the database. */
class SpanIntake {
  /** Lets one large body be read at a time. */
  private readonly largeBodies = new KeyedMutex();

  constructor(
    readonly journal: Journal<SpanRow, object>,
    private readonly settings: IntakeSettings,
  ) {}

  /** Takes the valid spans of a batch; none if the journal is full or the body cannot be read. */
  async take(batch: SpanBatch): Promise<Intake> {
    const { depth, bytes } = this.journal.state;
    const { maxJournalBytes, maxInflatedBytes } = this.settings;
    // A drained segment is removed only when the next one begins. So a large journal without waiting entries must take more.
    if (depth > 0 && bytes >= maxJournalBytes) {
      const detail = `${depth} spans wait for the database; their journal takes ${bytes} bytes, the cap is ${maxJournalBytes} (JOURNAL_MAX_BYTES)`;
      return { refused: 'spans_full', detail };
    }
    const decoded = this.decode(batch, maxSmallBytes);
    if (decoded) return this.store(decoded, batch);
    return this.largeBodies.run('large', () => {
      const detail = `The body is larger than ${maxInflatedBytes} bytes once it is inflated: send smaller batches`;
      const tooLarge: Refused = { refused: 'payload_too_large', detail };
      return this.store(this.decode(batch, maxInflatedBytes) ?? tooLarge, batch);
    });
  }

  /** @returns undefined if the inflated body is larger than `maxBytes` */
  private decode(batch: SpanBatch, maxBytes: number): IncomingBatch | Refused | undefined {
    try {
      const body = inflated(batch, maxBytes);
      return body && decoders[batch.format](body);
    } catch (error) {
      if (error instanceof TooLarge) return { refused: 'payload_too_large', detail: error.message };
      return { refused: 'invalid_request', detail: `The body cannot be read: ${messageOf(error)}` };
    }
  }

  /** Reads the spans and appends the valid ones, in turns: a turn begins when the spans of the previous one are in the journal. */
  private async store(
    incoming: IncomingBatch | Refused,
    { project, keyId, clientId }: SpanBatch,
  ): Promise<Intake> {
    if ('refused' in incoming) return incoming;
    const { retentionDays } = this.settings;
    const scope: IngestScope = { project, keyId, clientId, now: Date.now(), retentionDays };
    // Reversed, because turns take spans from the end.
    const spans = incoming.spans.reverse();
    const total = spans.length;
    const failures: ReportedFailure[] = [];
    let taken = 0;
    let spentMs = 0;
    let reason: string | undefined;
    while (spans.length > 0 && spentMs < maxMs) {
      const began = performance.now();
      const turn = takeTurn(spans, total, scope, began + turnMs);
      // Without waiting in between, so that the journal writes all rows at once.
      const appends = turn.rows.map((row) => this.journal.tryAppend({ id: row.spanId, start: row, end: {} }));
      // Only the reading counts: a slow disk is not the sender's fault.
      spentMs += performance.now() - began;
      if ((await Promise.all(appends)).includes(false)) return refusedAsUnwritable;
      taken += turn.rows.length;
      reason ??= turn.reason;
      if (failures.length < maxReported)
        failures.push(...turn.rows.flatMap((row) => reportedFailure(row) ?? []));
      await nextTurn();
    }
    if (spans.length > 0)
      reason ??= `The last ${spans.length} spans: the batch took more than ${maxMs / 1_000} s to read`;
    const reasonOrNote = reason ?? incoming.note;
    return {
      taken,
      rejected: total - taken,
      ...(reasonOrNote !== undefined && { reason: reasonOrNote }),
      ...(failures.length > 0 && { failures: failures.slice(0, maxReported) }),
    };
  }
}

/**
 * Takes spans from the end of the list and reads them, until the turn is over.
 * @param total number of spans of the batch
 * @param endsAt when the turn ends, by `performance.now()`
 */
function takeTurn(
  spans: ReadSpan[],
  total: number,
  scope: IngestScope,
  endsAt: number,
): { readonly rows: SpanRow[]; readonly reason: string | undefined } {
  const rows: SpanRow[] = [];
  let reason: string | undefined;
  let chars = 0;
  while (spans.length > 0 && chars < turnChars && performance.now() < endsAt) {
    try {
      const row = normaliseSpan((spans.pop() as ReadSpan)(), scope);
      chars += row.attributes.length;
      rows.push(row);
    } catch (error) {
      const why = error instanceof RejectedSpan ? error.message : `it cannot be read (${messageOf(error)})`;
      reason ??= `Span ${total - spans.length - 1} of the batch: ${why}`;
    }
  }
  return { rows, reason };
}

/** @returns undefined if the inflated body is larger than `maxOutputLength` */
function inflated({ gzip, body }: SpanBatch, maxOutputLength: number): Uint8Array | undefined {
  if (!gzip) return body.length > maxOutputLength ? undefined : body;
  try {
    // One buffer: many small ones would be in memory twice while they are joined.
    return gunzipSync(body, { maxOutputLength, chunkSize: maxOutputLength });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
    throw error;
  }
}

/** Parses a body. Its structures are counted first, because parsing too many would exhaust the memory. @throws TooLarge, or SyntaxError */
function jsonIn(body: Uint8Array): unknown {
  let structures = 0;
  // An index is seven times as fast as an iterator.
  for (let at = 0; at < body.length; at += 1)
    if (body[at] === openBrace || body[at] === openBracket) structures += 1;
  if (structures > maxStructures)
    throw new TooLarge(`The body holds more than ${maxStructures} objects and lists: send smaller batches`);
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString());
}

const { journal: settings, sink, intake: limits } = workerData as IngestOrders;
/** Interval of reports on the journal's progress while entries wait. */
const reportEveryMs = 250;

let opening: Promise<SpanIntake> | undefined;

/** Opens the journal once. If that fails, because another gateway owns it for example, the next request tries again. */
const openOnce = (): Promise<SpanIntake> =>
  (opening ??= open().catch((error: unknown) => {
    opening = undefined;
    throw error;
  }));

/** Opens the journal, starts its drain, and reports its state at an interval. */
async function open(): Promise<SpanIntake> {
  const drain = drainThread(new URL('./span-drain.worker.js', import.meta.url), sink);
  const journal = await Journal.open<SpanRow, object>({ ...settings, drain }, (news) =>
    tellOwner<IngestNews>({ news }),
  );
  let reportedDepth = 0;
  setInterval(() => {
    const { state } = journal;
    if (reportedDepth > 0 || state.depth > 0) tellOwner<IngestNews>({ state });
    reportedDepth = state.depth;
  }, reportEveryMs);
  return new SpanIntake(journal, limits);
}

answerCalls<IngestRequest, Intake | undefined>(async (request) => {
  if (request.ask === 'close' && !opening) return undefined;
  const intake = await openOnce();
  const { journal } = intake;
  if (request.ask === 'flush') await journal.flush();
  if (request.ask === 'close') await journal.close(request.withinMs);
  const result = request.ask === 'take' ? await intake.take(request.batch) : undefined;
  tellOwner<IngestNews>({ state: journal.state });
  return result;
});
