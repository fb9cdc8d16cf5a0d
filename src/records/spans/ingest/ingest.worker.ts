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
import { spansInJson, spansOfVllora } from './json-bodies.js';
import { type IngestScope, normaliseSpan } from './normalise-span.js';
import { spansInProtobuf } from './otlp-protobuf.js';

/** Objects and lists of a batch in JSON: small ones take fifty times the memory of their text. */
const maxStructures = 500_000;
/** Bytes of an inflated body: smaller ones are read at once, larger ones in slices and one at a time. */
const smallBytes = 1_048_576;
/** How long a batch holds the thread at a time; and in all, the exporters' usual timeout. Spans that are left then are rejected. */
const turnMs = 20;
const maxMs = 10_000;
/** Characters of attributes that a turn writes to the journal, or a span more. */
const turnChars = 1_048_576;
/** Maximum failures reported per batch, because they are sent to the main thread as one message. */
const maxReported = 1_000;

/** A request's body as it came in. */
export interface SpanBatch {
  readonly format: 'otlp-json' | 'otlp-protobuf' | 'vllora';
  readonly gzip: boolean;
  readonly body: Uint8Array;
  readonly project: string;
  readonly keyId: string | null;
  readonly clientId: string | null;
}

/** The fate of a batch. */
export type Intake =
  | {
      readonly taken: number;
      readonly rejected: number;
      /** Why one of the rejected was. */ readonly reason?: string;
      /** Failures of executions reported by the accepted spans. */ readonly failures?: readonly ReportedFailure[];
    }
  | Refused;

interface Refused {
  readonly refused: 'spans_full' | 'payload_too_large' | 'invalid_request';
  readonly detail: string;
}

interface IntakeSettings {
  /** Bytes that the journal may take on the disk. */
  readonly maxJournalBytes: number;
  /** Bytes of a body once it is inflated. */
  readonly maxInflatedBytes: number;
  readonly retentionDays: number;
}

const decoders: Readonly<Record<SpanBatch['format'], (body: Uint8Array) => IncomingBatch>> = {
  'otlp-json': (body) => spansInJson(jsonIn(body)),
  'otlp-protobuf': spansInProtobuf,
  vllora: (body) => spansOfVllora(jsonIn(body)),
};

/** Takes batches into the spans' journal: what it has taken is in a file, and in the database in the end. */
class SpanIntake {
  private readonly large = new KeyedMutex();

  constructor(
    readonly journal: Journal<SpanRow, object>,
    private readonly settings: IntakeSettings,
  ) {}

  /** When the journal is full or the body cannot be read, no span is taken. */
  async take(batch: SpanBatch): Promise<Intake> {
    const { depth, bytes } = this.journal.state;
    // A segment that was drained stays until there is a next one: it must not keep that from coming.
    if (depth > 0 && bytes >= this.settings.maxJournalBytes)
      return { refused: 'spans_full', detail: this.full(bytes) };
    const small = this.decoded(batch, smallBytes);
    if (small) return this.kept(small, batch);
    return this.large.run('large', () => {
      const { maxInflatedBytes: most } = this.settings;
      const detail = `The body is larger than ${most} bytes once it is inflated: send smaller batches`;
      return this.kept(this.decoded(batch, most) ?? { refused: 'payload_too_large', detail }, batch);
    });
  }

  /** @returns undefined for a body that is larger */
  private decoded(batch: SpanBatch, maxBytes: number): IncomingBatch | Refused | undefined {
    try {
      const body = inflated(batch, maxBytes);
      return body && decoders[batch.format](body);
    } catch (error) {
      if (error instanceof TooLarge) return { refused: 'payload_too_large', detail: error.message };
      return { refused: 'invalid_request', detail: `The body cannot be read: ${messageOf(error)}` };
    }
  }

  /** One bad span never holds up the others. The good spans of each turn are in the journal before the next one. */
  private async kept(
    incoming: IncomingBatch | Refused,
    { project, keyId, clientId }: SpanBatch,
  ): Promise<Intake> {
    if ('refused' in incoming) return incoming;
    const { retentionDays } = this.settings;
    const scope: IngestScope = { project, keyId, clientId, now: Date.now(), retentionDays };
    const spans = incoming.spans.reverse();
    const all = spans.length;
    const failures: ReportedFailure[] = [];
    let [taken, spentMs] = [0, 0];
    let reason: string | undefined;
    while (spans.length > 0 && spentMs < maxMs) {
      const began = performance.now();
      const turn = normalised(spans, all, scope, began + turnMs);
      const written = this.append(turn.rows);
      spentMs += performance.now() - began;
      if (!(await written)) return unwritable;
      taken += turn.rows.length;
      reason ??= turn.reason;
      if (failures.length < maxReported)
        failures.push(...turn.rows.flatMap((row) => reportedFailure(row) ?? []));
      await nextTurn();
    }
    if (spans.length > 0)
      reason ??= `The last ${spans.length} spans: the batch took more than ${maxMs / 1_000} s to read`;
    const why = reason ?? incoming.note;
    return {
      taken,
      rejected: all - taken,
      ...(why !== undefined && { reason: why }),
      ...(failures.length > 0 && { failures: failures.slice(0, maxReported) }),
    };
  }

  /** Appends rows in one turn, so that the journal writes them at once. */
  private async append(rows: readonly SpanRow[]): Promise<boolean> {
    const written = await Promise.all(
      rows.map((row) => this.journal.tryAppend({ id: row.spanId, start: row, end: {} })),
    );
    return written.every(Boolean);
  }

  private full(bytes: number): string {
    const { depth } = this.journal.state;
    const { maxJournalBytes } = this.settings;
    return `${depth} spans wait for the database; their journal takes ${bytes} bytes, the cap is ${maxJournalBytes} (JOURNAL_MAX_BYTES)`;
  }
}

/** Reads spans from the end of the list until the turn is over. @param all number of spans of the batch */
function normalised(
  spans: ReadSpan[],
  all: number,
  scope: IngestScope,
  until: number,
): { readonly rows: SpanRow[]; readonly reason: string | undefined } {
  const rows: SpanRow[] = [];
  let reason: string | undefined;
  let chars = 0;
  while (spans.length > 0 && chars < turnChars && performance.now() < until) {
    try {
      const row = normaliseSpan((spans.pop() as ReadSpan)(), scope);
      chars += row.attributes.length;
      rows.push(row);
    } catch (error) {
      const why = error instanceof RejectedSpan ? error.message : `it cannot be read (${messageOf(error)})`;
      reason ??= `Span ${all - spans.length - 1} of the batch: ${why}`;
    }
  }
  return { rows, reason };
}

const unwritable: Refused = {
  refused: 'spans_full',
  detail: 'The journal of spans cannot be written (TOOLKEEPER_DATA_DIR)',
};

/** @returns undefined for a body that is larger */
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

/** @throws TooLarge, or SyntaxError */
function jsonIn(body: Uint8Array): unknown {
  let structures = 0;
  // An iterator takes seven times as long as the index.
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === openBrace || byte === openBracket) structures += 1;
  }
  if (structures > maxStructures)
    throw new TooLarge(`The body holds more than ${maxStructures} objects and lists: send smaller batches`);
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString());
}

const [openBrace, openBracket] = [0x7b, 0x5b];

export interface IngestOrders {
  readonly journal: Omit<JournalSettings, 'drain'>;
  readonly sink: SinkSettings;
  readonly intake: IntakeSettings;
}

/** `open` begins to bring to the database what an earlier gateway left. */
export type IngestRequest =
  | { readonly ask: 'open' | 'flush' }
  | { readonly ask: 'close'; readonly withinMs: number }
  | { readonly ask: 'take'; readonly batch: SpanBatch };

export type IngestNews = { readonly state: JournalState } | { readonly news: JournalNews };

const { journal: settings, sink, intake: limits } = workerData as IngestOrders;
/** Interval of reports on the journal's progress while entries wait. */
const tellEveryMs = 250;

let opening: Promise<SpanIntake> | undefined;

/** A journal that another gateway has is tried again with the next request. */
function opened(): Promise<SpanIntake> {
  opening ??= open().catch((error: unknown) => {
    opening = undefined;
    throw error;
  });
  return opening;
}

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
  }, tellEveryMs);
  return new SpanIntake(journal, limits);
}

answerCalls<IngestRequest, Intake | undefined>(async (request) => {
  if (request.ask === 'close' && !opening) return undefined;
  const intake = await opened();
  const { journal } = intake;
  if (request.ask === 'flush') await journal.flush();
  if (request.ask === 'close') await journal.close(request.withinMs);
  const taken = request.ask === 'take' ? await intake.take(request.batch) : undefined;
  tellOwner<IngestNews>({ state: journal.state });
  return taken;
});
