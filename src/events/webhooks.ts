import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { InjectMetric, makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import { DelegateBackoff, handleAll, retry } from 'cockatiel';
import { abortable } from '../common/abortable.js';
import { backOff, type BackOff } from '../common/back-off.js';
import { HttpClient } from '../outbound/http-client.js';
import { secretBytes, signatureHeaders } from '../outbound/webhook-signature.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Contributors } from '../observability/contributors.js';
import { EventHistory } from './event-history.js';

const webhookResults = 'toolkeeper_webhooks_total';
const webhooksWaiting = 'toolkeeper_webhooks_waiting';

/** Metrics of webhooks. */
export const webhookMetrics = [
  makeCounterProvider({
    name: webhookResults,
    help: 'Webhooks: delivered, tried again (retried), given up after all tries, dropped because too many waited',
    labelNames: ['result'],
  }),
  makeGaugeProvider({ name: webhooksWaiting, help: 'Webhooks that were not taken yet' }),
];

/** Full jitter: many messages that failed together do not come back together. */
const pause = { firstMs: 1_000, maxMs: 60_000, jitter: 1 };

/** Sends events to the receivers in WEBHOOK_URLS; off where there are none. */
@Injectable()
export class Webhooks implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(Webhooks.name);
  private readonly lanes: readonly WebhookLane[];
  private readonly types: AppConfig['webhooks']['types'];

  constructor(
    @Inject(APP_CONFIG) { webhooks }: Pick<AppConfig, 'webhooks'>,
    private readonly history: EventHistory,
    @InjectMetric(webhookResults) private readonly results: Counter,
    @InjectMetric(webhooksWaiting) waiting: Gauge,
    contributors: Contributors,
  ) {
    const { urls, secret = '', types, ...limits } = webhooks;
    this.types = types;
    this.lanes = urls.map(
      (url) => new WebhookLane({ url, secret, ...limits, pause }, this.reportFor(new URL(url).host)),
    );
    contributors.addSampler(() => waiting.set(this.lanes.reduce((sum, { depth }) => sum + depth, 0)));
  }

  onModuleInit(): void {
    if (this.lanes.length === 0) return;
    this.history.placed.subscribe((event) => {
      if (this.types && !this.types.has(event.type)) return;
      const message = { id: event.id, body: JSON.stringify(event) };
      for (const lane of this.lanes) lane.send(message);
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.lanes.map((lane) => lane.stop()));
  }

  /** Only the host of the URL, whose path or query may contain a secret. */
  private reportFor(host: string): LaneReport {
    return (result, why) => {
      this.results.inc({ result });
      if (result === 'given_up')
        this.logger.warn({ event: 'webhook_given_up', host, error: why }, 'a webhook was not taken');
    };
  }
}

export type LaneSettings = Omit<AppConfig['webhooks'], 'urls' | 'types'> & {
  readonly url: string;
  readonly secret: string;
  /** Between the tries of a message. */
  readonly pause: BackOff;
};

export interface Message {
  readonly id: string;
  readonly body: string;
}

export type LaneReport = (result: 'delivered' | 'retried' | 'given_up' | 'dropped', why?: string) => void;

/**
 * The way to one receiver: messages go in the order in which they came, one at a time, each tried again until it is
 * taken or has had its tries. A receiver that is away holds up only its own lane.
 */
export class WebhookLane {
  private readonly waiting: Message[] = [];
  private readonly stopped = new AbortController();
  private readonly secret: Buffer;
  private readonly path: string;
  private readonly http: HttpClient;
  private running: Promise<void> | undefined;

  constructor(
    private readonly settings: LaneSettings,
    private readonly report: LaneReport,
  ) {
    this.secret = secretBytes(settings.secret);
    const { origin, pathname, search } = new URL(settings.url);
    this.path = pathname + search;
    // A receiver's answer is not read.
    this.http = new HttpClient({
      origin,
      connections: 1,
      timeoutMs: settings.timeoutMs,
      maxResponseBytes: 0,
    });
  }

  /** Messages that were not taken yet. */
  get depth(): number {
    return this.waiting.length;
  }

  send(message: Message): void {
    if (this.stopped.signal.aborted) return;
    if (this.waiting.length >= this.settings.maxQueue) {
      // Never the one under way: it may have arrived.
      this.waiting.splice(1, 1);
      this.report('dropped', 'too many wait');
    }
    this.waiting.push(message);
    this.running ??= this.run();
  }

  /** Cuts off the message under way and drops those that wait. */
  async stop(): Promise<void> {
    this.stopped.abort();
    await this.running;
    await this.http.close();
    for (const _message of this.waiting.splice(0)) this.report('dropped', 'the server stops');
  }

  private async run(): Promise<void> {
    for (let next = this.waiting[0]; next && !this.stopped.signal.aborted; next = this.waiting[0]) {
      if (!(await this.deliver(next))) break;
      this.waiting.shift();
    }
    this.running = undefined;
  }

  /** @returns false if the lane was stopped before the message had its tries */
  private async deliver(message: Message): Promise<boolean> {
    const { maxAttempts, pause } = this.settings;
    let failures = 0;
    const backoff = new DelegateBackoff(() => backOff(++failures, pause));
    const tries = retry(handleAll, { maxAttempts: maxAttempts - 1, backoff }).dangerouslyUnref();
    tries.onRetry((failure) => this.report('retried', 'error' in failure ? failure.error.message : ''));
    try {
      await abortable(
        tries.execute(() => this.try(message), this.stopped.signal),
        this.stopped.signal,
      );
      this.report('delivered');
    } catch (error) {
      if (this.stopped.signal.aborted) return false;
      this.report('given_up', (error as Error).message);
    }
    return true;
  }

  /** @throws UpstreamFailure if it was not taken */
  private try({ id, body }: Message): Promise<void> {
    this.stopped.signal.throwIfAborted();
    const timestamp = Math.floor(Date.now() / 1_000);
    const headers = signatureHeaders(this.secret, { id, timestamp, body });
    return this.http.tell({ method: 'POST', path: this.path, headers, body });
  }
}
