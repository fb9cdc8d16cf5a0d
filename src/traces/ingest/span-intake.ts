import { gunzipSync } from 'node:zlib';
import { messageOf } from '../../common/message-of.js';
import type { Journal, JournalState } from '../../journal/journal.js';
import type { SpanRow } from '../span-row.js';
import { RejectedSpan } from './incoming-span.js';
import { type IngestScope, normaliseSpan } from './normalise-span.js';
import { type ReadSpan, spansInJson } from './otlp-json.js';
import { spansInProtobuf } from './otlp-protobuf.js';
import { type ToldFailure, toldFailure } from './told-failures.js';
import { spansOfVllora } from './vllora-json.js';

/** Spans of a batch at most, and objects and lists of one in JSON: small ones take fifty times the memory of their text. */
const mostSpans = 100_000;
const mostStructures = 4_000_000;
/** Failures that are told of a batch: its owner's thread takes them as one message. */
const mostTold = 1_000;

/** A batch that would take too much to read. */
class TooLarge extends Error {}

/** A request's body as it came in. */
export interface SpanBatch {
  readonly format: 'otlp-json' | 'otlp-protobuf' | 'vllora';
  readonly gzip: boolean;
  readonly body: Uint8Array;
  readonly project: string;
  readonly keyId: string | null;
}

/** The fate of a batch. */
export type Intake =
  | {
      readonly taken: number;
      readonly rejected: number;
      /** Why one of the rejected was. */ readonly reason?: string;
      /** The word of those that were taken about executions. */ readonly told?: readonly ToldFailure[];
    }
  | { readonly refused: 'full' | 'unwritable' | 'too_large' | 'malformed'; readonly detail: string };

export interface IntakeSettings {
  /** Bytes that the journal may take on the disk. */
  readonly maxJournalBytes: number;
  /** Bytes of a body once it is inflated. */
  readonly maxInflatedBytes: number;
  readonly retentionDays: number;
}

type SpanJournal = Pick<Journal<SpanRow, object>, 'tryAppend'> & { readonly state: JournalState };

const decoders: Readonly<Record<SpanBatch['format'], (body: Uint8Array) => ReadSpan[]>> = {
  'otlp-json': (body) => spansInJson(jsonIn(body)),
  'otlp-protobuf': spansInProtobuf,
  vllora: (body) => spansOfVllora(jsonIn(body)),
};

/** Takes batches into the spans' journal: what it has taken is in a file, and in the database in the end. */
export class SpanIntake {
  constructor(
    private readonly journal: SpanJournal,
    private readonly settings: IntakeSettings,
  ) {}

  /** All good spans of a batch are taken, or none. */
  async take(batch: SpanBatch): Promise<Intake> {
    const { depth, bytes } = this.journal.state;
    // A segment that was drained stays until there is a next one: it must not keep that from coming.
    if (depth > 0 && bytes >= this.settings.maxJournalBytes)
      return { refused: 'full', detail: this.full(bytes) };
    let spans: ReadSpan[];
    try {
      spans = decoders[batch.format](this.inflated(batch));
      if (spans.length > mostSpans)
        throw new TooLarge(`A batch may hold ${mostSpans} spans: send smaller ones`);
    } catch (error) {
      if (isInflatedTooFar(error)) return { refused: 'too_large', detail: this.tooLarge() };
      if (error instanceof TooLarge) return { refused: 'too_large', detail: error.message };
      return { refused: 'malformed', detail: `The body cannot be read: ${messageOf(error)}` };
    }
    const { rows, rejected, reason } = this.normalised(spans, batch);
    if (!(await this.append(rows))) {
      return {
        refused: 'unwritable',
        detail: 'The journal of spans cannot be written (TOOLKEEPER_DATA_DIR)',
      };
    }
    const told = rows.flatMap((row) => toldFailure(row) ?? []).slice(0, mostTold);
    return {
      taken: rows.length,
      rejected,
      ...(reason !== undefined && { reason }),
      ...(told.length > 0 && { told }),
    };
  }

  private inflated({ gzip, body }: SpanBatch): Uint8Array {
    return gzip ? gunzipSync(body, { maxOutputLength: this.settings.maxInflatedBytes }) : body;
  }

  /** One bad span never holds up the others. */
  private normalised(
    spans: readonly ReadSpan[],
    { project, keyId }: SpanBatch,
  ): { rows: SpanRow[]; rejected: number; reason: string | undefined } {
    const { retentionDays } = this.settings;
    const scope: IngestScope = { project, keyId, now: Date.now(), retentionDays };
    const rows: SpanRow[] = [];
    let rejected = 0;
    let reason: string | undefined;
    for (const [at, read] of spans.entries()) {
      try {
        rows.push(normaliseSpan(read(), scope));
      } catch (error) {
        rejected += 1;
        const why = error instanceof RejectedSpan ? error.message : `it cannot be read (${messageOf(error)})`;
        reason ??= `Span ${at} of the batch: ${why}`;
      }
    }
    return { rows, rejected, reason };
  }

  /** In one turn, so that the journal writes them at once. */
  private async append(rows: readonly SpanRow[]): Promise<boolean> {
    const written = await Promise.all(
      rows.map((row) => this.journal.tryAppend({ id: row.spanId, start: row, end: {} })),
    );
    return written.every(Boolean);
  }

  private full(bytes: number): string {
    const { depth } = this.journal.state;
    const { maxJournalBytes } = this.settings;
    return `${depth} spans wait for the database; their journal takes ${bytes} bytes, the cap is ${maxJournalBytes} (SPANS_JOURNAL_MAX_BYTES)`;
  }

  private tooLarge(): string {
    return `The body is larger than ${this.settings.maxInflatedBytes} bytes once it is inflated: send smaller batches`;
  }
}

const isInflatedTooFar = (error: unknown): boolean =>
  error instanceof RangeError && (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';

/** @throws TooLarge, or SyntaxError */
function jsonIn(body: Uint8Array): unknown {
  let structures = 0;
  // By the index: an iterator takes seven times as long.
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === openBrace || byte === openBracket) structures += 1;
  }
  if (structures > mostStructures)
    throw new TooLarge(`The body holds more than ${mostStructures} objects and lists: send smaller batches`);
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString());
}

const [openBrace, openBracket] = [0x7b, 0x5b];
