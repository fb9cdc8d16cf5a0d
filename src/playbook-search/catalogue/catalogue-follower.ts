import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { IntervalLoop } from '../../common/interval-loop.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { CatalogueListener } from './catalogue-listener.js';
import { PlaybookIndex } from './playbook-index.js';
import { PlaybookCatalogueService } from '../../playbooks/playbook-catalogue.service.js';
import { PlaybooksRepository } from '../../playbooks/playbooks.repository.js';

/**
 * Lets search follow the catalogue: what is changed here at once, and what other replicas, or an operator in the
 * database, change. The database says at once that something changed; where it cannot (a pooler between us and it),
 * the revision is looked at every two seconds. The catalogue is read before the first search needs it.
 */
@Injectable()
export class CatalogueFollower implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(CatalogueFollower.name);
  private readonly loop: IntervalLoop;
  private readonly listener: CatalogueListener;
  private isFailing = false;
  private onlyLooks = false;

  constructor(
    @Inject(APP_CONFIG) { playbooks }: Pick<AppConfig, 'playbooks'>,
    dataSource: DataSource,
    private readonly repository: PlaybooksRepository,
    private readonly index: PlaybookIndex,
    catalogue: PlaybookCatalogueService,
  ) {
    catalogue.changed.subscribe(() => index.invalidate());
    this.loop = new IntervalLoop(
      () => this.look(),
      playbooks.refreshIntervalMs,
      (error) => this.failed(error),
    );
    this.listener = new CatalogueListener(dataSource.options, () => this.loop.hasten(0));
  }

  onApplicationBootstrap(): void {
    this.loop.start();
    this.loop.hasten(0);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    await this.listener.close();
  }

  private async look(): Promise<void> {
    // Before the revision is read: a change between the two is heard of.
    await this.listener.listen().catch((error: unknown) => this.cannotListen(error));
    await this.index.follow(await this.repository.revision());
    this.isFailing = false;
  }

  private cannotListen(error: unknown): void {
    if (!this.onlyLooks)
      this.logger.warn(`Changes of the playbook catalogue are looked for only: ${String(error)}`);
    this.onlyLooks = true;
  }

  /** The database may be away for long: one line is enough. */
  private failed(error: unknown): void {
    if (!this.isFailing) this.logger.error(error, 'Changes of the playbook catalogue are not seen for now');
    this.isFailing = true;
  }
}
