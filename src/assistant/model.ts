import { Inject, Injectable } from '@nestjs/common';
import type { LanguageModelUsage, ModelMessage } from 'ai';
import { messageOf } from '../common/message-of.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { endpointUrl, keyHeader } from '../outbound/upstream-calls.js';
import { costOf } from '../records/spans/ingest/model-prices.js';
import type { OfferedTool } from './chat-tools.js';
import type { ChatUsageView } from './assistant.dto.js';

export interface Question {
  readonly instructions: string;
  readonly messages: ModelMessage[];
  readonly tools: readonly OfferedTool[];
  readonly signal: AbortSignal;
}

export type AnswerPart =
  | { readonly kind: 'text'; readonly text: string }
  /** `malformed`: why its arguments cannot be read. */
  | { readonly kind: 'call'; readonly tool: string; readonly input: unknown; readonly malformed?: string }
  | { readonly kind: 'end'; readonly usage: Pick<ChatUsageView, 'inputTokens' | 'outputTokens' | 'cost'> };

/** The model gave no answer, or no whole one. The message is for the person. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

const limitMs = 180_000;

/** The configured language model. The AI SDK is loaded with the first question: a server without one pays nothing for it. */
@Injectable()
export class ChatModel {
  constructor(@Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'llm'>) {}

  /** Undefined: none is configured. */
  get name(): string | undefined {
    return this.config.llm?.model;
  }

  /** @throws NoAnswer, or the signal's reason when it aborts */
  async *answer({ tools, signal, ...question }: Question): AsyncGenerator<AnswerPart> {
    const limit = AbortSignal.timeout(limitMs);
    const { streamText, jsonSchema } = await import('ai');
    const described = tools.map(
      ({ name, description, schema }) => [name, { description, inputSchema: jsonSchema(schema) }] as const,
    );
    const { stream } = streamText({
      ...question,
      model: await this.model(),
      // Without `execute`: the turn runs the calls of an answer, after it has written them down.
      tools: Object.fromEntries(described),
      maxOutputTokens: 16_384,
      abortSignal: AbortSignal.any([signal, limit]),
      // Failures come with the stream.
      onError: () => undefined,
    });
    for await (const part of stream) {
      if (part.type === 'text-delta') yield { kind: 'text', text: part.text };
      if (part.type === 'tool-call') yield callOf(part);
      if (part.type === 'finish-step') yield { kind: 'end', usage: this.usageOf(part.usage) };
      if (part.type === 'error') throw new NoAnswer(`The model gave no answer: ${messageOf(part.error)}`);
    }
    signal.throwIfAborted();
    if (limit.aborted) throw new NoAnswer(`The model gave no whole answer within ${limitMs / 1_000} s`);
  }

  private async model() {
    const { llm } = this.config;
    if (!llm) throw new Error('There is no language model');
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const url = endpointUrl(llm, '/chat/completions');
    return createOpenAICompatible({
      name: 'llm',
      baseURL: llm.url,
      headers: { ...keyHeader(llm), 'x-label': 'assistant' },
      includeUsage: true,
      // The endpoint's own query string stays, and the key goes to no other host.
      fetch: (_, init) => fetch(url, { ...init, redirect: 'error' }),
    })(llm.model);
  }

  private usageOf({ inputTokens = 0, outputTokens = 0, inputTokenDetails, raw }: LanguageModelUsage) {
    const cachedTokens = inputTokenDetails.cacheReadTokens ?? null;
    const computed = costOf(this.name ?? null, { inputTokens, outputTokens, cachedTokens });
    const reported = raw?.['cost'];
    return { inputTokens, outputTokens, cost: typeof reported === 'number' ? reported : computed };
  }
}

/** Arguments that are no JSON stay text. The door refuses a name that was not offered. */
function callOf(call: { toolName: string; input: unknown; invalid?: boolean; error?: unknown }): AnswerPart {
  const { toolName: tool, input, invalid, error } = call;
  const isMalformed = invalid === true && typeof input === 'string';
  return { kind: 'call', tool, input, ...(isMalformed && { malformed: messageOf(error) }) };
}
