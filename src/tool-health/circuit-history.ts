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
const maxPending = 10_000;
const retryMs = 5_000;
const dayMs = 86_400_000;

/** Writes down what happens to the circuits, in the background, and forgets it with the metrics of its time. */
@Injectable()
export class CircuitHistory implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(CircuitHistory.name);
  private readonly retentionDays: number;
  private pending: CircuitTransition[] = [];
  private writing: Promise<void> = Promise.resolve();
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

  /**
   * The newest of one tool, oldest first.
   * @throws the database's error
   */
  async newest(tool: string, limit: number): Promise<CircuitTransition[]> {
    await this.flush();
    return this.repository.newest(tool, limit);
  }

  private add(transition: CircuitTransition): void {
    this.pending.push(transition);
    if (this.pending.length > maxPending) {
      const lost = this.pending.shift();
      this.logger.error(lost, 'circuit history loses its oldest transition');
    }
    this.writer.hasten(0);
  }

  /** Writes the transitions that wait, after the write under way; those that cannot be written wait on. */
  private flush(): Promise<void> {
    this.writing = this.writing.catch(() => undefined).then(() => this.write());
    return this.writing;
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
