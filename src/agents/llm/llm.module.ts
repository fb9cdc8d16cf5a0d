import { Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { type AnswerHeaders, HttpClient, type HttpRequest } from '../../base/outbound/http-client.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import { isDeeperThan, tooDeep, writableLevels } from '../../base/common/json-depth.js';
import {
  endpointBreaker,
  endpointUrl,
  keyHeader,
  type ModelAddress,
  type RetrySettings,
  UpstreamCalls,
} from '../../base/outbound/upstream-calls.js';
import { UpstreamFailure } from '../../base/outbound/upstream-failure.js';
import { Redactor } from '../../runtime/secrets/redactor.js';
import { AnswerSize, boundedAnswer, maxAnswerBytes } from './answer-limits.js';

/** The error for callers if no language model is configured. */
export const noLlm =
  'No language model is configured: set LLM_BASE_URL and LLM_MODEL (and LLM_API_KEY if the endpoint needs a key)';

/** The body of a request to `/chat/completions`; the default `model` is the configured one. */
type ChatRequest = Readonly<Record<string, unknown>>;

/** A model's answer to a chat request. */
export interface Completion {
  /** The text of the answer; empty if the model only called tools. */
  readonly text: string;
  /** `choices[0].message` as the endpoint gave it. */
  readonly message: Readonly<Record<string, unknown>>;
  /** The whole answer: `{choices, model, usage, …}`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Duration of the attempt that was answered. */
  readonly durationMs: number;
  /** Trace id that a gateway reports for the call (`x-trace-id`). */
  readonly traceId: string | undefined;
}

/** An answer before it is checked. */
interface TimedAnswer extends Pick<Completion, 'durationMs' | 'traceId'> {
  readonly answer: unknown;
}

export interface ChatOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Receives the `usage` of each answer. */
  readonly onUsage?: (usage: JsonObject) => void;
}

/** Retries until the deadline, because a failed request would lose a whole analysis. */
const defaultRetries: RetrySettings = { retries: 2, pauseMs: 500, deadlineMs: 110_000 };
const attemptTimeoutMs = 60_000;
/** Max connections. Each turn of the assistant holds one while the model answers. */
const connections = 32;
/** Min length of a key that is redacted; a shorter one is a placeholder that may occur in any text. */
const minKeyLength = 8;

/** A client of an OpenAI-compatible `/chat/completions`. */
export class LlmEndpoint {
  private readonly url: URL;
  private readonly http: HttpClient;
  private readonly calls: UpstreamCalls;
  private readonly streams: UpstreamCalls;
  /** Redacts the endpoint's key, which an endpoint may repeat in its answers. */
  readonly redactor: Redactor;

  constructor(
    readonly address: ModelAddress,
    retrySettings = defaultRetries,
  ) {
    const { apiKey = '' } = address;
    this.redactor = new Redactor(apiKey.length < minKeyLength ? {} : { LLM_API_KEY: apiKey });
    this.url = endpointUrl(address, '/chat/completions');
    const { origin } = this.url;
    this.http = new HttpClient({
      origin,
      connections,
      timeoutMs: attemptTimeoutMs,
      maxResponseBytes: maxAnswerBytes,
      quotesErrors: true,
    });
    const breaker = endpointBreaker();
    this.calls = new UpstreamCalls(
      retrySettings,
      (request, limitMs) => this.askTimed(request, limitMs),
      breaker,
    );
    this.streams = new UpstreamCalls(retrySettings, (request) => this.http.stream(request), breaker);
  }

  /** Asks the model. @returns the text of the answer; empty if the model only called tools @throws as `complete` does */
  async chat(request: ChatRequest, options: ChatOptions): Promise<string> {
    return (await this.complete(request, options)).text;
  }

  /** Asks the model. @throws UpstreamFailure if the endpoint gives no answer; the signal's reason when it aborts */
  complete(request: ChatRequest, options: ChatOptions): Promise<Completion> {
    const body = JSON.stringify({ model: this.address.model, ...request });
    const read = (timed: unknown): Completion => {
      const completion = completionIn(timed as TimedAnswer, this.redactor);
      options.onUsage?.(objectIn(completion.body['usage']));
      return completion;
    };
    return this.calls.ask({ ...this.post(body, options), read }, options.signal);
  }

  /**
   * The bytes of a streamed answer; only the signal limits its time.
   * @throws as `complete` does, and UpstreamFailure during reading if the answer is too long
   */
  stream(body: string, { headers, signal }: ChatOptions): Promise<AsyncGenerator<Uint8Array>> {
    const request = this.post(body, { headers: { ...headers, accept: 'text/event-stream' }, signal });
    const read = (bytes: unknown) => boundedAnswer(bytes as AsyncIterable<Uint8Array>);
    return this.streams.ask({ ...request, read }, signal);
  }

  /** Closes all connections, with the requests in progress. */
  close(): Promise<void> {
    return this.http.close();
  }

  /** A request with the endpoint's key. */
  private post(body: string, { headers, signal }: ChatOptions): HttpRequest {
    const path = `${this.url.pathname}${this.url.search}`;
    return { method: 'POST', path, headers: { ...headers, ...keyHeader(this.address) }, body, signal };
  }

  private async askTimed(request: HttpRequest, limitMs: number): Promise<TimedAnswer> {
    let traceId: AnswerHeaders[string];
    const onHeaders = (headers: AnswerHeaders): void => {
      traceId = headers['x-trace-id'];
    };
    const begun = performance.now();
    const answer = await this.http.ask({ ...request, onHeaders }, limitMs);
    // A header that is sent twice is a list.
    return { answer, durationMs: performance.now() - begun, traceId: [traceId].flat()[0] };
  }
}

/** Checks and redacts an answer. @throws UpstreamFailure if it has no message, or is too large or too deep */
function completionIn({ answer, ...figures }: TimedAnswer, redactor: Redactor): Completion {
  if (isDeeperThan(answer, writableLevels))
    throw new UpstreamFailure('invalid_answer', `its answer ${tooDeep}`);
  const body = objectIn(redactor.cleanJson(answer));
  const [first] = listIn(body['choices']);
  const { message } = objectIn(first);
  if (!isObject(message))
    throw new UpstreamFailure('invalid_answer', 'its answer has no `choices[0].message`');
  const { length: calls } = listIn(message['tool_calls']);
  new AnswerSize().add(JSON.stringify([message, body['usage']]), calls);
  return { ...figures, text: textOf(message['content']), message, body };
}

/** The header that assigns a model's call to a thread, if the thread's id fits into a header. */
export const threadHeader = (thread: string | null | undefined): Record<string, string> =>
  thread != null && /^[\x20-\x7e]{1,512}$/.test(thread) ? { 'x-thread-id': thread } : {};

const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
const objectIn = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** A text, or the texts of a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : ''))
    .join('');
}

/** The configured language model; `endpoint` is undefined without one. */
@Injectable()
export class Llm implements OnApplicationShutdown {
  readonly endpoint: LlmEndpoint | undefined;

  constructor(@Inject(APP_CONFIG) { llm }: AppConfig) {
    this.endpoint = llm && new LlmEndpoint(llm);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.endpoint?.close();
  }
}

@Module({ providers: [Llm], exports: [Llm] })
export class LlmModule {}
