import type { ChatOptions, LlmEndpoint } from '../../llm/llm.module.js';
import { messageOf } from '../../../base/common/message-of.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';
import {
  type AnalysedSpan,
  type Analysis,
  type BatchAnalysis,
  type Focus,
  merged,
  readAnswer,
} from './analysis-answer.js';
import { analysisSchema, messagesFor } from './analysis-prompt.js';

const batchSize = 5;
/** How long an endpoint is taken to refuse a format that it refused: it may have been another fault, or is mended. */
const knownMs = 300_000;

/** How an endpoint is asked for JSON, the strictest way first; what it does not know it refuses with 400. */
const formats = [
  { response_format: { type: 'json_schema', json_schema: analysisSchema } },
  { response_format: { type: 'json_object' } },
  {},
] as const;

interface Question {
  readonly spans: readonly AnalysedSpan[];
  readonly focus: Focus;
  /** The caller's words about the run. */
  readonly context: string | undefined;
}

interface FailedBatch {
  readonly span_ids: readonly string[];
  readonly error: string;
}

interface Analysed {
  readonly analysis: Analysis;
  readonly failed: readonly FailedBatch[];
}

/** Lets a language model judge spans, some at a time, each time with a line about all the others. */
export class SpanAnalyst {
  /** The first of `formats` that this endpoint's model has not refused; the strictest is tried again in the end. */
  private known = { format: 0, until: 0 };

  constructor(
    private readonly llm: Pick<LlmEndpoint, 'chat'>,
    private readonly now = Date.now,
  ) {}

  /**
   * A batch that fails leaves the others.
   * @throws UpstreamFailure when all of them fail; the signal's reason when it aborts
   */
  async analyse({ spans, focus, context }: Question, options: ChatOptions): Promise<Analysed> {
    const inOrder = [...spans].sort((a, b) => a.start_time_us - b.start_time_us);
    const batches = batchesOf(inOrder);
    const results = await Promise.allSettled(
      batches.map(async (batch) => {
        const others = inOrder.filter((span) => !batch.includes(span));
        const messages = messagesFor({ spans: batch, others, focus, context });
        return readAnswer(await this.ask(messages, options), batch);
      }),
    );
    options.signal.throwIfAborted();
    const answers: BatchAnalysis[] = [];
    const failed: FailedBatch[] = [];
    for (const [index, result] of results.entries()) {
      if (result.status === 'fulfilled') answers.push(result.value);
      else failed.push({ span_ids: (batches[index] ?? []).map(idOf), error: messageOf(result.reason) });
    }
    const [first] = results;
    if (answers.length === 0 && first?.status === 'rejected') throw first.reason;
    return { analysis: merged(answers, new Set(inOrder.map(idOf))), failed };
  }

  private async ask(messages: readonly object[], options: ChatOptions): Promise<string> {
    const first = this.now() < this.known.until ? this.known.format : 0;
    for (let format = first; ; format++) {
      try {
        const text = await this.llm.chat({ messages, ...formats[format] }, options);
        if (format > first) this.known = { format, until: this.now() + knownMs };
        return text;
      } catch (error) {
        const isRefused = error instanceof UpstreamFailure && error.status === 400;
        if (!isRefused || format + 1 >= formats.length) throw error;
      }
    }
  }
}

const idOf = ({ span_id: id }: AnalysedSpan): string => id;

function batchesOf(spans: readonly AnalysedSpan[]): AnalysedSpan[][] {
  const count = Math.ceil(spans.length / batchSize);
  return Array.from({ length: count }, (_, index) => spans.slice(index * batchSize, (index + 1) * batchSize));
}
