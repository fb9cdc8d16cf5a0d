import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { CircuitEvents, type CircuitTransition } from './circuit-events.js';
import { CircuitTransitionsRepository } from './circuit-transitions.repository.js';
import { WriteBehind } from './write-behind.js';

const dayMs = 86_400_000;

/** Writes down what happens to the circuits, in the background, and forgets it with the metrics of its time. */
@Injectable()
export class CircuitHistory implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly written: WriteBehind<CircuitTransition>;
  private unsubscribe: (() => void) | undefined;

  constructor(
    @Inject(APP_CONFIG) { recorder }: AppConfig,
    @Inject(CLOCK) clock: Clock,
    private readonly events: CircuitEvents,
    private readonly repository: CircuitTransitionsRepository,
  ) {
    const clean = async (): Promise<void> => {
      await repository.deleteOlder(new Date(clock.now() - recorder.retentionDays * dayMs));
    };
    const keeping = {
      what: 'circuit history',
      write: (rows: readonly CircuitTransition[]) => repository.insert(rows),
      clean,
    };
    this.written = new WriteBehind(keeping, new Logger(CircuitHistory.name));
  }

  onModuleInit(): void {
    this.unsubscribe = this.events.subscribe((transition) => this.written.add(transition));
  }

  onApplicationBootstrap(): void {
    this.written.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await this.written.stop();
  }

  /**
   * The newest of one tool, oldest first.
   * @throws the database's error
   */
  async newest(tool: string, limit: number): Promise<CircuitTransition[]> {
    await this.written.flush();
    return this.repository.newest(tool, limit);
  }
}
