import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { TableFollower } from '../../database/table-follower.js';
import { PlaybookCatalogueService } from '../../playbooks/playbook-catalogue.service.js';
import { PlaybooksRepository } from '../../playbooks/playbooks.repository.js';
import { PlaybookIndex } from './playbook-index.js';

/**
 * Lets search follow the catalogue: what is changed here at once, and what others change as soon as the database tells.
 * The catalogue is read before the first search needs it.
 */
@Injectable()
export class CatalogueFollower implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly follower: TableFollower;

  constructor(
    @Inject(APP_CONFIG) { playbooks }: Pick<AppConfig, 'playbooks'>,
    { options }: DataSource,
    repository: PlaybooksRepository,
    index: PlaybookIndex,
    catalogue: PlaybookCatalogueService,
  ) {
    catalogue.changed.subscribe(() => index.invalidate());
    const followed = {
      what: 'the playbook catalogue',
      channel: 'playbook_catalog',
      intervalMs: playbooks.refreshIntervalMs,
    };
    this.follower = new TableFollower(options, followed, async () =>
      index.follow(await repository.revision()),
    );
  }

  onApplicationBootstrap(): void {
    this.follower.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.follower.stop();
  }
}
