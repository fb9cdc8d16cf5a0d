import { CircuitBreaker } from '../common/circuit-breaker.js';
import type { CircuitSettings } from '../common/circuit-state.js';
import { systemClock } from '../common/clock.js';
import { HttpClient } from '../common/http-client.js';
import { type RetrySettings, UpstreamCalls } from '../common/upstream-calls.js';
import { UpstreamFailure } from '../common/upstream-failure.js';

export interface LlmAddress {
  /** Up to `/chat/completions`, which is added unless it ends so. */
  readonly url: string;
  readonly model: string;
  readonly apiKey: string | undefined;
}

/** The body of a chat completion as OpenAI has it; `model` is the configured one where it is absent. */
export type ChatRequest = Readonly<Record<string, unknown>>;

export interface ChatOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** A question is repeated while there is time: whoever waits for it waits for the rest of an analysis, too. */
const patience: RetrySettings = { retries: 2, pauseMs: 500, deadlineMs: 110_000 };
const tryMs = 60_000;
const connections = 8;
const maxAnswerBytes = 8_388_608;

/** An endpoint that fails half of its tries is left alone; then one request probes it. */
const circuit: CircuitSettings = {
  failures: 1,
  minCalls: 5,
  minFailureRate: 0.5,
  windowMs: 300_000,
  openMs: 30_000,
  maxOpenMs: 30_000,
  probes: 1,
  faultsAre: 'failures',
};

/** Any OpenAI-compatible `/chat/completions`. */
export class LlmEndpoint {
  private readonly url: URL;
  private readonly http: HttpClient;
  private readonly calls: UpstreamCalls;

  constructor(
    private readonly address: LlmAddress,
    times = patience,
  ) {
    this.url = completionsUrl(address.url);
    const { origin } = this.url;
    this.http = new HttpClient({
      origin,
      connections,
      timeoutMs: tryMs,
      maxResponseBytes: maxAnswerBytes,
      tellsWhy: true,
    });
    const breaker = new CircuitBreaker(circuit, systemClock, Math.random);
    this.calls = new UpstreamCalls(times, (request, limitMs) => this.http.ask(request, limitMs), breaker);
  }

  /**
   * @returns what the model said; empty where it only asked for tools
   * @throws UpstreamFailure when the endpoint gives no answer; the signal's reason when it aborts
   */
  chat(request: ChatRequest, { headers, signal }: ChatOptions): Promise<string> {
    const { model, apiKey } = this.address;
    return this.calls.ask(
      {
        method: 'POST',
        path: this.url.pathname + this.url.search,
        headers: { ...headers, ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) },
        body: JSON.stringify({ model, ...request }),
        signal,
        read: saidIn,
      },
      signal,
    );
  }

  /** Ends what is under way. */
  close(): Promise<void> {
    return this.http.close();
  }
}

function completionsUrl(base: string): URL {
  const url = new URL(base);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/chat/completions') ? path : `${path}/chat/completions`;
  return url;
}

function saidIn(answer: unknown): string {
  const message = messageIn(answer);
  if (message === undefined)
    throw new UpstreamFailure('invalid_answer', 'its answer has no `choices[0].message`');
  return textOf(message.content);
}

function messageIn(body: unknown): { readonly content?: unknown } | undefined {
  const { choices } = (body ?? {}) as { choices?: unknown };
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const { message } = (first ?? {}) as { message?: unknown };
  return typeof message === 'object' && message !== null ? message : undefined;
}

/** A text, or the texts of a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : ''))
    .join('');
}
