import { Injectable } from '@nestjs/common';
import type { LanguageModelUsage, ModelMessage } from 'ai';
import { jsonExcerpt } from '../../base/common/json-depth.js';
import { isObject } from '../../base/common/json.js';
import { AnswerSize, maxAnswerTokens } from '../llm/answer-limits.js';
import { Llm } from '../llm/llm.module.js';
import { costOf } from '../../records/spans/ingest/model-prices.js';
import type { OfferedTool } from './chat-tools.js';
import type { ChatUsageView } from './assistant.dto.js';

/** A request to the model. */
export interface Question {
  readonly instructions: string;
  readonly messages: ModelMessage[];
  readonly tools: readonly OfferedTool[];
  readonly signal: AbortSignal;
}

type Usage = Pick<ChatUsageView, 'inputTokens' | 'outputTokens' | 'cost'>;

/** A part of the model's answer. `end` comes last, even if the answer was cut off. */
export type AnswerPart =
  | { readonly kind: 'text'; readonly text: string }
  /** `malformed`: the reason why its arguments cannot be read. */
  | { readonly kind: 'call'; readonly tool: string; readonly input: unknown; readonly malformed?: string }
  | { readonly kind: 'end'; readonly usage: Usage };

/** Thrown if the model gave no complete answer. The message is for the user. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

const answerTimeoutMs = 180_000;
/** Max characters of an error in a chat, because an error may quote the whole answer. */
const maxErrorLength = 500;
const charsPerToken = 4;
/** Max plausible number of tokens, or cost, that an endpoint reports. */
const maxFigure = 1e12;

/** The configured language model. Loads the AI SDK with the first question, to save memory on servers without one. */
@Injectable()
export class ChatModel {
  constructor(private readonly llm: Llm) {}

  /** The model's name; undefined if none is configured. */
  get name(): string | undefined {
    return this.llm.endpoint?.address.model;
  }

  /** Redacts the endpoint's key in a text. */
  redact(text: string): string {
    return this.llm.endpoint?.redactor.clean(text) ?? text;
  }

  /** Streams the parts of an answer. @throws NoAnswer, or the signal's reason when it aborts */
  async *answer(question: Question): AsyncGenerator<AnswerPart> {
    const { signal } = question;
    const timeout = AbortSignal.timeout(answerTimeoutMs);
    const abandoned = new AbortController();
    const size = new AnswerSize();
    let usage: LanguageModelUsage | undefined;
    let failure: unknown;
    try {
      const anyEnd = AbortSignal.any([signal, timeout, abandoned.signal]);
      for await (const part of await this.stream(question, anyEnd)) {
        if (part.type === 'text-delta') {
          size.add(part.text);
          yield { kind: 'text', text: this.redact(part.text) };
        }
        if (part.type === 'tool-input-start') size.add(part.toolName, 1);
        if (part.type === 'tool-input-delta') size.add(part.delta);
        if (part.type === 'tool-call') yield this.callOf(part);
        if (part.type === 'finish-step') usage = part.usage;
        if (part.type === 'error') failure ??= part.error;
        if (failure !== undefined) break;
      }
    } catch (error) {
      failure = error;
    } finally {
      // Otherwise the SDK reads the rest of the stream.
      abandoned.abort();
    }
    // Interrupted answers are billed, too.
    const wasBilled = usage !== undefined || size.chars > 0 || signal.aborted;
    if (wasBilled) yield { kind: 'end', usage: this.usageOf(question, size, usage) };
    signal.throwIfAborted();
    if (timeout.aborted)
      throw new NoAnswer(`The model gave no whole answer within ${answerTimeoutMs / 1_000} s`);
    if (failure !== undefined) throw new NoAnswer(`The model gave no answer: ${this.errorText(failure)}`);
  }

  /** The parts of an answer as the AI SDK reads them. */
  private async stream({ tools, ...question }: Question, abortSignal: AbortSignal) {
    const { endpoint } = this.llm;
    if (!endpoint) throw new Error('There is no language model');
    // The low-memory variant keeps no copy of the stream for further readers.
    const { experimental_streamTextLowMemory: streamText, jsonSchema } = await import('ai');
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const toolEntries = tools.map(
      ({ name, description, schema }) => [name, { description, inputSchema: jsonSchema(schema) }] as const,
    );
    const options = { headers: { 'x-label': 'assistant' }, signal: abortSignal };
    const provider = createOpenAICompatible({
      name: 'llm',
      // Never used: `fetch` asks the endpoint, which has its own address and key.
      baseURL: 'http://llm.invalid',
      includeUsage: true,
      fetch: async (_, init) =>
        new Response(ReadableStream.from(await endpoint.stream(init?.body as string, options))),
    });
    const { stream } = streamText({
      ...question,
      model: provider(endpoint.address.model),
      // Without `execute`: the turn runs the calls of an answer, after it has stored them.
      tools: Object.fromEntries(toolEntries),
      maxOutputTokens: maxAnswerTokens,
      maxRetries: 0,
      abortSignal,
      // Failures are read from the stream.
      onError: () => undefined,
    });
    return stream;
  }

  /** The usage that the endpoint reports, or an estimate without a report; never below 0. */
  private usageOf(question: Question, { chars }: AnswerSize, usage?: LanguageModelUsage): Usage {
    const { inputTokenDetails: { cacheReadTokens = undefined } = {}, raw } = usage ?? {};
    const inputTokens = plausible(usage?.inputTokens) || estimateTokens(JSON.stringify(question).length);
    const outputTokens = plausible(usage?.outputTokens) || estimateTokens(chars);
    const cachedTokens =
      cacheReadTokens === undefined ? null : Math.min(inputTokens, plausible(cacheReadTokens));
    const reported = raw?.['cost'];
    const hasCost = typeof reported === 'number' && reported >= 0;
    const computed = costOf(this.name ?? null, { inputTokens, outputTokens, cachedTokens });
    return { inputTokens, outputTokens, cost: hasCost ? plausible(reported) : computed };
  }

  /** A call of the model. Unreadable arguments stay text; unknown names are left to the door, which refuses them. */
  private callOf(call: { toolName: string; input: unknown; invalid?: boolean; error?: unknown }): AnswerPart {
    const { toolName: tool, input, invalid, error } = call;
    const isMalformed = invalid === true && typeof input === 'string';
    const redacted = this.llm.endpoint?.redactor.cleanJson(input);
    return { kind: 'call', tool, input: redacted, ...(isMalformed && { malformed: this.errorText(error) }) };
  }

  /** The message of the root cause, because the SDK's own errors quote everything that they could not read. */
  private errorText(error: unknown): string {
    const { message = error, cause } = (isObject(error) ? error : {}) as Partial<Error>;
    if (cause !== undefined) return this.errorText(cause);
    const text = typeof message === 'string' ? message : jsonExcerpt(message ?? null, maxErrorLength);
    return this.redact(text).slice(0, maxErrorLength);
  }
}

/** A reported figure within sensible limits; 0 if it is missing or negative. */
const plausible = (figure = 0): number => (figure > 0 ? Math.min(figure, maxFigure) : 0);
const estimateTokens = (chars: number): number => Math.ceil(chars / charsPerToken);
