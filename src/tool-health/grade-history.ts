import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock.js';
import { keyIn, type Page, pageFrom } from '../common/page.js';
import type { PageQuery } from '../common/shapes.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { GradeChangesRepository } from './grade-changes.repository.js';
import { type HealthChange, HealthEvents } from './health-events.js';
import type { GradeChangeView } from './tool-health.shapes.js';
import { ToolHealthService } from './tool-health.service.js';
import { WriteBehind } from './write-behind.js';

const dayMs = 86_400_000;

/** Writes down how tools' grades change, so that a restart neither forgets it nor begins anew. */
@Injectable()
export class GradeHistory implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly written: WriteBehind<HealthChange>;
  private unsubscribe: (() => void) | undefined;

  constructor(
    @Inject(APP_CONFIG) { recorder }: AppConfig,
    @Inject(CLOCK) clock: Clock,
    private readonly events: HealthEvents,
    private readonly health: ToolHealthService,
    private readonly repository: GradeChangesRepository,
  ) {
    const keeping = {
      what: 'grade history',
      write: (rows: readonly HealthChange[]) => repository.insert(rows),
      clean: () => repository.deleteOlder(new Date(clock.now() - recorder.retentionDays * dayMs)),
    };
    this.written = new WriteBehind(keeping, new Logger(GradeHistory.name));
  }

  async onModuleInit(): Promise<void> {
    this.unsubscribe = this.events.subscribe((change) => this.written.add(change));
    for (const { tool, to, at } of await this.repository.last()) this.health.remember(tool, to, at.getTime());
  }

  onApplicationBootstrap(): void {
    this.written.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await this.written.stop();
  }

  /** The newest first. @throws the database's error */
  async page(tool: string, { limit, cursor }: PageQuery): Promise<Page<GradeChangeView>> {
    await this.written.flush();
    const before = keyIn(cursor, (place) => (/^\d{1,18}$/.test(place) ? place : undefined));
    const rows = await this.repository.page(tool, limit + 1, before);
    const { data, nextCursor } = pageFrom(rows, ({ seq }) => seq, limit);
    return {
      data: data.map(({ from, to, why, at }) => ({ from, to, why, at: at.toISOString() })),
      nextCursor,
    };
  }
}
