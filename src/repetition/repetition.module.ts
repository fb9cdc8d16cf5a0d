import { Logger, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { RepetitionMetrics } from '../observability/repetition-metrics.js';
import { CachedAnswers } from './cached-answers.js';
import { ClaimKeeper, type KeeperReport } from './claim-keeper.js';
import { IdempotencyRepository } from './idempotency.repository.js';
import { IdempotencySweep } from './idempotency-sweep.js';
import { IdempotentCalls } from './idempotent-calls.js';
import { ResultCache } from './result-cache.js';

/** What keeps a call from being run twice. */
@Module({
  // TypeORM closes its connections after the modules that import it: how claims end is stored by then.
  imports: [TypeOrmModule.forFeature([])],
  providers: [
    CachedAnswers,
    IdempotencyRepository,
    IdempotencySweep,
    {
      provide: ClaimKeeper,
      inject: [IdempotencyRepository, APP_CONFIG],
      useFactory: (store: IdempotencyRepository, { idempotency }: AppConfig) =>
        new ClaimKeeper(store, idempotency.leaseMs, logged(new Logger(ClaimKeeper.name))),
    },
    {
      provide: IdempotentCalls,
      inject: [IdempotencyRepository, ClaimKeeper, APP_CONFIG],
      useFactory: (store: IdempotencyRepository, keeper: ClaimKeeper, { idempotency }: AppConfig) =>
        new IdempotentCalls(store, keeper, idempotency.maxOutcomeBytes),
    },
    {
      provide: ResultCache,
      inject: [APP_CONFIG, RepetitionMetrics, CachedAnswers],
      useFactory: ({ resultCache }: AppConfig, metrics: RepetitionMetrics, answers: CachedAnswers) => {
        const cache = new ResultCache(resultCache.maxBytes, (outcome, kind, { input, context }) => {
          metrics.cached(outcome.tool, kind);
          answers.emit({ outcome, input, investigationId: context.investigationId });
        });
        metrics.observe(() => cache.bytes);
        return cache;
      },
    },
  ],
  exports: [CachedAnswers, IdempotentCalls, ResultCache],
})
export class RepetitionModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly keeper: ClaimKeeper,
    private readonly sweep: IdempotencySweep,
  ) {}

  onApplicationBootstrap(): void {
    this.keeper.start();
    this.sweep.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.keeper.stop(), this.sweep.stop()]);
  }
}

function logged(logger: Logger): KeeperReport {
  return {
    failed: (error) =>
      logger.warn({ event: 'idempotency_unsaved', error: String(error) }, 'a claim could not be stored yet'),
    lost: ({ id, tool }) =>
      logger.warn(
        { event: 'idempotency_claim_lost', executionId: id, tool },
        'the key of a call that ran was taken over: the database was away for longer than IDEMPOTENCY_LEASE_MS',
      ),
  };
}
