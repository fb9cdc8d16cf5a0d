import { counter, gauge } from '../observability/metrics.js';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Counter, Gauge } from 'prom-client';
import type { EntityManager } from 'typeorm';
import { sha256 } from '../common/canonical-json.js';
import { idOf } from '../common/ids.js';
import { messageOf } from '../common/message-of.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { Contributors } from '../observability/contributors.js';
import { portOfUrl } from '../outbound/addresses.js';
import { HttpClient } from '../outbound/http-client.js';
import { secretBytes, signatureHeaders } from '../outbound/webhook-signature.js';
import { Jobs } from './jobs.js';
import type { StoredJob } from './queue.js';

const webhookResults = 'toolkeeper_webhooks_total';
const webhooksWaiting = 'toolkeeper_webhooks_waiting';

/** Metrics of webhooks. */
export const webhookMetrics = [
  counter(
    webhookResults,
    'Webhooks: delivered, tried again (retried), given up after all tries (given_up)',
    'result',
  ),
  gauge(webhooksWaiting, 'Webhooks that were not delivered yet, of all replicas'),
];

/** A message to one receiver. */
export interface Webhook {
  /** Sent as `webhook-id`, the same for all tries. */
  readonly id: string;
  readonly url: string;
  readonly body: string;
  /** `operator`: a receiver of WEBHOOK_URLS. `caller`: a URL that a caller named. */
  readonly by: 'operator' | 'caller';
  /** The caller that named the URL. Callers take turns, so that a slow receiver does not delay others. */
  readonly caller?: string | null | undefined;
}

/** The stored job. Configured URLs are not stored, because they may contain secrets and may be removed later. */
const jobOf = ({ id, url, body, by }: Webhook) => ({
  id: idOf(`${id} ${url}`),
  data: { id, to: by === 'operator' ? sha256(url) : url, body, by },
});

const queue = 'webhooks';
/** Max messages that this replica sends at a time. */
const concurrency = 16;
const daySeconds = 86_400;

/** Sends webhooks, each until it is accepted or its tries are used up: from any replica, and also after a restart. */
@Injectable()
export class WebhookQueue {
  private readonly logger = new Logger(WebhookQueue.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'webhooks' | 'builtinTools'>,
    private readonly jobs: Jobs,
    @InjectMetric(webhookResults) private readonly results: Counter,
    @InjectMetric(webhooksWaiting) waiting: Gauge,
    contributors: Contributors,
  ) {
    jobs.add({
      name: queue,
      options: {
        retryLimit: config.webhooks.maxAttempts - 1,
        retryDelay: 1,
        retryBackoff: true,
        retryDelayMax: 60,
        heartbeatSeconds: 10,
        retentionSeconds: 3 * daySeconds,
        deleteAfterSeconds: daySeconds,
      },
      concurrency,
      run: (job) => this.deliver(job),
    });
    contributors.addSampler(() => {
      // A scrape shows the value that the previous one has requested.
      void jobs.countUnfinished(queue).then(
        (count) => waiting.set(count),
        () => undefined,
      );
    });
  }

  /** Queues a message unless its id was queued before. @throws the database's error */
  async send(webhook: Webhook): Promise<void> {
    await this.jobs.send(queue, { ...jobOf(webhook), caller: webhook.caller ?? undefined });
  }

  /** Queues the messages of a transaction and commits both, or neither. @throws the database's error */
  async sendWith(store: (manager: EntityManager) => Promise<readonly Webhook[]>): Promise<void> {
    await this.jobs.sendWith(queue, async (manager) => (await store(manager)).map(jobOf));
  }

  /** Sends a message. @throws UpstreamFailure if it was not accepted */
  private async deliver({ data, retryCount, retryLimit }: StoredJob): Promise<object> {
    const { id, to, body, by } = data as unknown as Omit<Webhook, 'url'> & { readonly to: string };
    const { webhooks, builtinTools } = this.config;
    const url = by === 'caller' ? to : webhooks.urls.find((each) => sha256(each) === to);
    const secret = by === 'caller' ? builtinTools.webhookSecret : webhooks.secret;
    if (url === undefined || secret === undefined) return { result: 'no longer configured' };
    const target = new URL(url);
    const { origin, pathname, search, host, hostname } = target;
    const http = new HttpClient({
      origin,
      connections: 1,
      timeoutMs: webhooks.timeoutMs,
      maxResponseBytes: 0,
      obstacle:
        by === 'caller'
          ? (address) => builtinTools.outbound.obstacle(hostname, portOfUrl(target), address)
          : undefined,
    });
    try {
      const timestamp = Math.floor(Date.now() / 1_000);
      const headers = signatureHeaders(secretBytes(secret), { id, timestamp, body });
      await http.send({ method: 'POST', path: pathname + search, headers, body });
      this.results.inc({ result: 'delivered' });
      return { result: 'delivered' };
    } catch (error) {
      const isLast = retryCount >= retryLimit;
      this.results.inc({ result: isLast ? 'given_up' : 'retried' });
      // Only the host is logged, because a URL may contain a token.
      const event = { event: isLast ? 'webhook_given_up' : 'webhook_retried', host, why: messageOf(error) };
      if (isLast) this.logger.warn(event);
      else this.logger.debug(event);
      throw error;
    } finally {
      await http.close();
    }
  }
}
