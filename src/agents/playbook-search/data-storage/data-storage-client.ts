import { LRUCache } from 'lru-cache';
import type { OnApplicationShutdown } from '@nestjs/common';
import { abortable } from '../../../base/common/abortable.js';
import { CircuitBreaker } from '../../../base/outbound/breaker/circuit-breaker.js';
import type {
  CircuitKind,
  CircuitSettings,
  CircuitChange,
} from '../../../base/outbound/breaker/circuit-state.js';
import type { AppConfig } from '../../../base/config/app-config.js';
import { type Clock, systemClock } from '../../../base/common/clock.js';
import { HttpClient, type HttpRequest } from '../../../base/outbound/http-client.js';
import { type Question, UpstreamCalls, type TryReport } from '../../../base/outbound/upstream-calls.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';
import { noTracer, type Tracer } from '../../../base/observability/tracing/tracer.js';
import { shortKey } from '../label-filter.js';
import { shownConfidence } from '../playbook-ranker.js';
import type { PlaybookAnswer, PlaybookSearch } from '../playbook-source.js';
import type { PlaybookHitView } from '../rest/playbook-search.dto.js';
import { isObject } from '../../../base/common/json.js';

/** Estimated overhead of a cache entry. */
const entryOverheadBytes = 256;
/** Max characters of a playbook's id and version, and of its description. */
const maxNameLength = 256;
const maxDescriptionLength = 10_000;

/** Origin of an answer: the service, or the cache because the service failed. */
export type AnswerOrigin = 'fetched' | 'stale';

export interface DataStorageObserver {
  /** Called after each attempt. */
  tried(report: TryReport): void;
  /** Called for each answered request. */
  answered(origin: AnswerOrigin): void;
  /** Called after each change of the circuit's state. */
  circuitChanged(change: CircuitChange): void;
}

/** Settings of the service: address, timeouts, retries, cache and circuit. */
export type DataStorageSettings = Omit<NonNullable<AppConfig['dataStorage']>, 'circuit'> & {
  readonly circuit: CircuitSettings;
};

/** A request for earlier incidents of an alert. */
export interface ContextRequest {
  readonly alertFingerprint: string;
  /** 0 to 1. */
  readonly similarityThreshold: number;
  /** Absent: all. */
  readonly contextTypes?: readonly string[];
}

/** Earlier incidents of an alert. Member names are not abbreviated, because an LLM reads them. */
interface HistoricalContext {
  readonly similar_incidents: readonly unknown[];
  readonly patterns: object;
  readonly success_rates: object;
}

/** An answer of the service, or an earlier one from the cache. */
interface UpstreamAnswer<T> {
  readonly answer: T;
  /** Milliseconds for which the tool's result may be cached; 0: not at all; absent: as configured for the tool. */
  readonly ttlMs?: number;
  /** Whether the service has failed, and this is its earlier answer. */
  readonly stale: boolean;
}

/**
 * A client of the Data Storage service. Requests have a deadline, are retried if that may help, and are answered from a
 * cache while the service fails. The tools' result cache has deduplicated equal calls already.
 */
export class DataStorageClient implements OnApplicationShutdown {
  private readonly base: URL;
  private readonly http: HttpClient;
  private readonly circuit: CircuitBreaker;
  private readonly calls: UpstreamCalls;
  /** The last answer to each request, for use while the service fails. */
  private readonly answers: LRUCache<string, object>;

  constructor(
    private readonly settings: DataStorageSettings,
    private readonly observer: DataStorageObserver,
    private readonly tracer: Tracer = noTracer,
    clock: Clock = systemClock,
  ) {
    this.base = new URL(settings.url);
    this.http = new HttpClient({ ...settings, origin: this.base.origin });
    this.circuit = new CircuitBreaker(settings.circuit, clock, Math.random, (change) =>
      observer.circuitChanged(change),
    );
    this.calls = new UpstreamCalls(
      settings,
      (request, limitMs) => this.attempt(request, limitMs),
      this.circuit,
      (report) => observer.tried(report),
    );
    this.answers = new LRUCache({
      maxSize: settings.cache.maxBytes,
      ttl: settings.cache.staleMs,
      sizeCalculation: (answer, key) =>
        Buffer.byteLength(JSON.stringify(answer)) + key.length + entryOverheadBytes,
    });
  }

  /** Deadline of a request, in milliseconds. */
  get maxMs(): number {
    return this.settings.deadlineMs;
  }

  get circuitState(): CircuitKind {
    return this.circuit.current().kind;
  }

  /** Searches playbooks. @param signal aborts if the caller leaves @throws UpstreamFailure, or the signal's reason */
  searchPlaybooks(search: PlaybookSearch, signal: AbortSignal): Promise<UpstreamAnswer<PlaybookAnswer>> {
    const path = `/api/v1/playbooks/search?${searchParameters(search).toString()}`;
    return this.ask({ method: 'GET', path, read: (body) => playbookAnswer(body, search) }, signal);
  }

  /** Requests the history of an incident. Throws as `searchPlaybooks` does. */
  enrichContext(request: ContextRequest, signal: AbortSignal): Promise<UpstreamAnswer<HistoricalContext>> {
    const body = JSON.stringify({
      alert_fingerprint: request.alertFingerprint,
      similarity_threshold: request.similarityThreshold,
      context_types: request.contextTypes,
    });
    const path = '/api/v1/context/enrich';
    return this.ask({ method: 'POST', path, body, read: historicalContext }, signal);
  }

  /** Aborts pending requests. */
  onApplicationShutdown(): Promise<void> {
    return this.http.close();
  }

  /** The service's answer, or if the service fails, its last one to the same request. */
  private async ask<T extends object>(
    question: Question<T>,
    signal: AbortSignal,
  ): Promise<UpstreamAnswer<T>> {
    const key = `${question.method} ${question.path} ${question.body ?? ''}`;
    // Kept for later failures even if the caller has left meanwhile.
    const askAndCache = async (): Promise<T> => {
      const answer = await this.calls.ask(question, signal);
      this.answers.set(key, answer);
      return answer;
    };
    try {
      const answer = await abortable(askAndCache(), signal);
      this.observer.answered('fetched');
      return { answer, stale: false };
    } catch (error) {
      const cached = this.answers.get(key);
      // A stale answer is better than none, but not for a request that the service rejected.
      const isRejected = error instanceof UpstreamFailure && error.kind === 'rejected';
      if (!cached || isRejected) throw error;
      this.observer.answered('stale');
      return { answer: cached as T, ttlMs: 0, stale: true };
    }
  }

  /** Sends one attempt in its own span, with a traceparent header so that the service's spans become its children. */
  private attempt(request: HttpRequest, limitMs: number): Promise<unknown> {
    const { hostname, port, protocol, pathname } = this.base;
    const attributes = {
      'http.request.method': request.method,
      // Without the query string, which contains the search terms.
      'url.path': request.path.split('?')[0] ?? '',
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    };
    const path = `${pathname.replace(/\/+$/, '')}${request.path}`;
    const send = () => this.http.ask({ ...request, path, headers: this.headers() }, limitMs);
    return this.tracer.span('data_storage.try', attributes, send, { kind: 'client' });
  }

  /** Headers with the service's token and the trace of the call. */
  private headers(): Record<string, string> {
    const { token } = this.settings;
    const traceparent = this.tracer.traceparent(undefined);
    return {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(traceparent !== undefined && { traceparent }),
    };
  }
}

/** The query string of a search. Label keys are short and sorted, so that equal searches have equal text. */
function searchParameters({ query, similarityThreshold, limit, labels }: PlaybookSearch): URLSearchParams {
  const parameters = new URLSearchParams({
    query,
    min_confidence: String(similarityThreshold),
    max_results: String(limit),
  });
  for (const key of Object.keys(labels).sort())
    parameters.append(`label.${shortKey(key)}`, labels[key] ?? '');
  return parameters;
}

/**
 * Parses the answer to a search. Returns only four fields per playbook, none below the threshold and at most `limit`
 * playbooks.
 * @throws UpstreamFailure `invalid_answer`
 */
export function playbookAnswer(
  body: unknown,
  { similarityThreshold, limit }: PlaybookSearch,
): PlaybookAnswer {
  const { playbooks, total_results: total } = fieldsOf(body, 'the answer');
  if (!Array.isArray(playbooks)) throw invalid('playbooks is no array');
  if (!Number.isInteger(total) || Number(total) < 0) throw invalid('total_results is no count');
  const hits = playbooks
    .map(hitOf)
    .filter(({ confidence }) => confidence >= similarityThreshold)
    .sort((a, b) => b.confidence - a.confidence)
    .slice(0, limit);
  return { playbooks: hits, total_results: hits.length };
}

/** Parses the answer to a context request. Absent members are empty. @throws UpstreamFailure `invalid_answer` */
export function historicalContext(body: unknown): HistoricalContext {
  const { similar_incidents = [], patterns = {}, success_rates = {} } = fieldsOf(body, 'the answer');
  if (!Array.isArray(similar_incidents)) throw invalid('similar_incidents is no array');
  if (!isObject(patterns)) throw invalid('patterns is no object');
  if (!isObject(success_rates)) throw invalid('success_rates is no object');
  return { similar_incidents, patterns, success_rates };
}

/** Parses a playbook of an answer. @throws UpstreamFailure `invalid_answer` */
function hitOf(value: unknown, index: number): PlaybookHitView {
  const place = `playbooks[${index}]`;
  const { playbook_id, version, description, confidence } = fieldsOf(value, place);
  if (!isText(playbook_id, maxNameLength)) throw invalid(`${place}.playbook_id is no name`);
  if (!isText(version, maxNameLength)) throw invalid(`${place}.version is no version`);
  if (!isText(description, maxDescriptionLength)) throw invalid(`${place}.description is no text`);
  if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 1))
    throw invalid(`${place}.confidence is not between 0 and 1`);
  return { playbook_id, version, description, confidence: shownConfidence(confidence) };
}

const isText = (value: unknown, maxLength: number): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= maxLength;

/** The members of an object. @throws UpstreamFailure `invalid_answer` for other values */
function fieldsOf(value: unknown, what: string): Record<string, unknown> {
  if (!isObject(value)) throw invalid(`${what} is no object`);
  return value;
}

const invalid = (what: string): UpstreamFailure =>
  new UpstreamFailure('invalid_answer', `the answer has an unexpected format: ${what}`);
