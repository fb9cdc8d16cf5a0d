import { Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { type AnswerHeaders, HttpClient, type HttpRequest } from '../outbound/http-client.js';
import { isObject, type JsonObject } from '../common/json.js';
import { isDeeperThan, tooDeep, writableLevels } from '../common/json-depth.js';
import {
  endpointBreaker,
  endpointUrl,
  keyHeader,
  type ModelAddress,
  type RetrySettings,
  UpstreamCalls,
} from '../outbound/upstream-calls.js';
import { UpstreamFailure } from '../outbound/upstream-failure.js';

/** The error for callers if no language model is configured. */
export const noLlm =
  'No language model is configured: set LLM_BASE_URL and LLM_MODEL (and LLM_API_KEY where the endpoint wants a key)';

/** The language model of this server, if it has one. */
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

/** The body of a chat completion as OpenAI has it; `model` is the configured one where it is absent. */
export type ChatRequest = Readonly<Record<string, unknown>>;

/** A model's answer to a chat request. */
export interface Completion {
  /** The model's words; empty if it only asked for tools. */
  readonly text: string;
  /** `choices[0].message` as the endpoint gave it. */
  readonly message: Readonly<Record<string, unknown>>;
  /** The whole answer: `{choices, model, usage, …}`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Duration of the try that was answered. */
  readonly durationMs: number;
  /** The trace in which a gateway has the call (`x-trace-id`); absent if it names none. */
  readonly traceId: string | undefined;
}

export interface ChatOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Requests are retried while there is time, because callers wait for the rest of an analysis anyway. */
const defaultRetries: RetrySettings = { retries: 2, pauseMs: 500, deadlineMs: 110_000 };
const tryMs = 60_000;
const connections = 8;
const maxAnswerBytes = 8_388_608;

/** Any OpenAI-compatible `/chat/completions`. */
export class LlmEndpoint {
  private readonly url: URL;
  private readonly http: HttpClient;
  private readonly calls: UpstreamCalls;

  constructor(
    private readonly address: ModelAddress,
    times = defaultRetries,
  ) {
    this.url = endpointUrl(address, '/chat/completions');
    const { origin } = this.url;
    this.http = new HttpClient({
      origin,
      connections,
      timeoutMs: tryMs,
      maxResponseBytes: maxAnswerBytes,
      quotesErrors: true,
    });
    this.calls = new UpstreamCalls(
      times,
      (request, limitMs) => this.timed(request, limitMs),
      endpointBreaker(),
    );
  }

  /**
   * @returns what the model said; empty if it only asked for tools
   * @throws as `complete` does
   */
  async chat(request: ChatRequest, options: ChatOptions): Promise<string> {
    return (await this.complete(request, options)).text;
  }

  /** @throws UpstreamFailure if the endpoint gives no answer; the signal's reason when it aborts */
  complete(request: ChatRequest, { headers, signal }: ChatOptions): Promise<Completion> {
    return this.calls.ask(
      {
        method: 'POST',
        path: this.url.pathname + this.url.search,
        headers: { ...headers, ...keyHeader(this.address) },
        body: JSON.stringify({ model: this.address.model, ...request }),
        signal,
        read: completionIn,
      },
      signal,
    );
  }

  private async timed(request: HttpRequest, limitMs: number): Promise<TimedAnswer> {
    let traceId: AnswerHeaders[string];
    const onHeaders = (headers: AnswerHeaders): void => void (traceId = headers['x-trace-id']);
    const begun = performance.now();
    const answer = await this.http.ask({ ...request, onHeaders }, limitMs);
    return { answer, durationMs: performance.now() - begun, traceId: [traceId].flat()[0] };
  }

  /** Ends what is under way. */
  close(): Promise<void> {
    return this.http.close();
  }
}

interface TimedAnswer extends Pick<Completion, 'durationMs' | 'traceId'> {
  readonly answer: unknown;
}

function completionIn(timed: unknown): Completion {
  const { answer, ...figures } = timed as TimedAnswer;
  if (isDeeperThan(answer, writableLevels))
    throw new UpstreamFailure('invalid_answer', `its answer ${tooDeep}`);
  const body = objectIn(answer);
  const [first] = Array.isArray(body['choices']) ? (body['choices'] as unknown[]) : [];
  const { message } = objectIn(first);
  if (!isObject(message))
    throw new UpstreamFailure('invalid_answer', 'its answer has no `choices[0].message`');
  return { ...figures, text: textOf(message['content']), message, body };
}

const objectIn = (value: unknown): JsonObject => (isObject(value) ? value : {});

/** A text, or the texts of a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : ''))
    .join('');
}
