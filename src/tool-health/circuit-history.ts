import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock.js';
import { IntervalLoop } from '../common/interval-loop.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { CircuitEvents, type CircuitTransition } from './circuit-events.js';
import { CircuitTransitionsRepository } from './circuit-transitions.repository.js';

const batchSize = 500;
/** Beyond this the oldest are dropped: the database has been away for very long. */
export const maxPending = 10_000;
const retryMs = 5_000;
const dayMs = 86_400_000;

/** Writes down what happens to the circuits, in the background, and forgets it with the metrics of its time. */
@Injectable()
export class CircuitHistory implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(CircuitHistory.name);
  private readonly retentionDays: number;
  private pending: CircuitTransition[] = [];
  private dropped = 0;
  private writing: Promise<void> | undefined;
  private unsubscribe: (() => void) | undefined;
  private readonly writer: IntervalLoop;
  private readonly cleaner: IntervalLoop;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly events: CircuitEvents,
    private readonly repository: CircuitTransitionsRepository,
  ) {
    this.retentionDays = config.recorder.retentionDays;
    const failed = (error: unknown): void => this.logger.warn(messageOf(error), 'circuit history waits');
    this.writer = new IntervalLoop(() => this.flush(), retryMs, failed);
    this.cleaner = new IntervalLoop(() => this.clean(), dayMs, failed);
  }

  onModuleInit(): void {
    this.unsubscribe = this.events.subscribe((transition) => this.add(transition));
  }

  onApplicationBootstrap(): void {
    this.writer.start();
    this.writer.hasten(0);
    this.cleaner.start();
    this.cleaner.hasten(0);
  }

  async onApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await Promise.all([this.writer.stop(), this.cleaner.stop()]);
    await this.flush().catch((error: unknown) => this.logger.error(error, 'circuit history is incomplete'));
  }

  /** Writes what waits. @throws what the database answers; then it waits on */
  async flush(): Promise<void> {
    // What came while a write was under way needs a write of its own.
    while (this.writing) await this.writing.catch(() => undefined);
    if (this.pending.length === 0) return;
    this.writing = this.write().finally(() => (this.writing = undefined));
    await this.writing;
  }

  /** The newest of one tool, oldest first, those that are not yet written left out. */
  newest(tool: string, limit: number): Promise<CircuitTransition[]> {
    return this.repository.newest(tool, limit);
  }

  private add(transition: CircuitTransition): void {
    this.pending.push(transition);
    if (this.pending.length > maxPending) {
      this.pending.shift();
      this.dropped += 1;
      if (this.dropped % 1_000 === 1)
        this.logger.error({ dropped: this.dropped }, 'circuit history loses its oldest');
    }
    this.writer.hasten(0);
  }

  private async write(): Promise<void> {
    while (this.pending.length > 0) {
      const batch = this.pending.slice(0, batchSize);
      await this.repository.insert(batch);
      const written = new Set(batch);
      this.pending = this.pending.filter((transition) => !written.has(transition));
    }
  }

  private async clean(): Promise<void> {
    await this.repository.deleteOlder(new Date(this.clock.now() - this.retentionDays * dayMs));
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
