import { gauge } from '../../base/observability/metrics.js';
import { Logger, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InjectMetric } from '@willsoto/nestjs-prometheus';
import type { Gauge } from 'prom-client';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { Replicas } from '../../base/database/replicas.js';
import { Contributors } from '../../base/observability/contributors.js';
import { Tracer } from '../../base/observability/tracing/tracer.js';
import { ClaimKeeper, type KeeperReport } from './claim-keeper.js';
import { IdempotencyRepository } from './idempotency.repository.js';
import { IdempotentCalls } from './idempotent-calls.js';
import { ResultCache } from './result-cache.js';

const cacheBytes = 'toolkeeper_result_cache_bytes';
/** Max bytes of cached results, as JSON. */
const maxCachedBytes = 67_108_864;
/** Maximum bytes of a stored outcome; a larger one is only marked as done. */
const maxOutcomeBytes = 1_048_576;
/** Interval of the deletion of expired keys. */
const sweepEveryMs = 300_000;

/** Idempotency keys and cached results, which both avoid running a call twice. */
@Module({
  // TypeORM closes its connections after the modules that import it, so that the ends of claims can be stored.
  imports: [TypeOrmModule.forFeature([])],
  providers: [
    IdempotencyRepository,
    {
      provide: ClaimKeeper,
      inject: [IdempotencyRepository, APP_CONFIG],
      useFactory: (store: IdempotencyRepository, { idempotency }: AppConfig) =>
        new ClaimKeeper(store, idempotency.leaseMs, logTrouble(new Logger(ClaimKeeper.name))),
    },
    {
      provide: IdempotentCalls,
      inject: [IdempotencyRepository, ClaimKeeper, Lifecycle],
      useFactory: (store: IdempotencyRepository, keeper: ClaimKeeper, { requests }: Lifecycle) =>
        new IdempotentCalls(store, keeper, maxOutcomeBytes, requests),
    },
    {
      provide: ResultCache,
      inject: [Tracer],
      useFactory: (tracer: Tracer) => new ResultCache(maxCachedBytes, tracer),
    },
    gauge(cacheBytes, 'Results that are kept for other calls, as JSON'),
  ],
  exports: [IdempotentCalls, ResultCache],
})
export class RepetitionModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly sweep: IntervalLoop;

  constructor(
    private readonly keeper: ClaimKeeper,
    keys: IdempotencyRepository,
    cache: ResultCache,
    contributors: Contributors,
    replicas: Replicas,
    @InjectMetric(cacheBytes) bytes: Gauge,
  ) {
    contributors.addSampler(() => bytes.set(cache.bytes));
    const logger = new Logger(RepetitionModule.name);
    this.sweep = new IntervalLoop(
      async () => {
        if (replicas.keepsHouse) await keys.deleteExpired();
      },
      sweepEveryMs,
      (error) => logger.warn(`Expired idempotency keys could not be removed: ${String(error)}`),
    );
  }

  onApplicationBootstrap(): void {
    this.keeper.start();
    this.sweep.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.keeper.stop(), this.sweep.stop()]);
  }
}

function logTrouble(logger: Logger): KeeperReport {
  return {
    failed: (error) =>
      logger.warn({ event: 'idempotency_unsaved', error: String(error) }, 'a claim could not be stored yet'),
    lost: ({ id, tool }) =>
      logger.warn(
        { event: 'idempotency_claim_lost', executionId: id, tool },
        'the key of a call that ran was taken over: the database was away for longer than a claim is held',
      ),
  };
}
