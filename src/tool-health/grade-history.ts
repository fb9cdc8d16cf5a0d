import { Inject, Injectable } from '@nestjs/common';
import { keyIn, type Page, pageFrom } from '../common/page.js';
import type { PageQuery } from '../common/shapes.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { GradeChangesRepository } from './grade-changes.repository.js';
import { type HealthChange, HealthEvents } from './health-events.js';
import type { GradeChangeView } from './tool-health.shapes.js';
import { ToolHealthService } from './tool-health.service.js';
import { WriteBehind } from '../common/write-behind.js';

/** How tools' grades change: a restart neither forgets it nor begins anew. */
@Injectable()
export class GradeHistory extends WriteBehind<HealthChange> {
  constructor(
    @Inject(APP_CONFIG) { recorder }: AppConfig,
    events: HealthEvents,
    private readonly health: ToolHealthService,
    private readonly repository: GradeChangesRepository,
  ) {
    super('grade history', events, repository, recorder.retentionDays);
  }

  override async onModuleInit(): Promise<void> {
    void super.onModuleInit();
    for (const { tool, to, at } of await this.repository.last()) this.health.remember(tool, to, at.getTime());
  }

  /** The newest first. @throws the database's error */
  async page(tool: string, { limit, cursor }: PageQuery): Promise<Page<GradeChangeView>> {
    await this.flush();
    const before = keyIn(cursor, (place) => (/^\d{1,18}$/.test(place) ? place : undefined));
    const rows = await this.repository.page(tool, limit + 1, before);
    const { data, nextCursor } = pageFrom(rows, ({ seq }) => seq, limit);
    return {
      data: data.map(({ from, to, why, at }) => ({ from, to, why, at: at.toISOString() })),
      nextCursor,
    };
  }
}
