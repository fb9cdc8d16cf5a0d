import { Inject, Injectable, Logger } from '@nestjs/common';
import { IntervalLoop } from '../../common/interval-loop.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { CustomToolRuntimes } from '../running/custom-tool-runtimes.js';
import { CustomToolsRepository, type ToolState } from '../entity/custom-tools.repository.js';

/**
 * Lets what other replicas did to tools take effect here: registered, changed, removed, enabled, disabled. Compares
 * rows every CUSTOM_TOOLS_RELOAD_INTERVAL: one small query, and no connection of its own as LISTEN would need.
 */
@Injectable()
export class ReplicaSync {
  private readonly logger = new Logger(ReplicaSync.name);
  private readonly loop: IntervalLoop;
  /** Revisions that could not be loaded here, by tool: not tried again until there is another one. */
  private readonly refused = new Map<string, string>();
  private isFailing = false;

  constructor(
    @Inject(APP_CONFIG) config: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly manager: CustomToolManager,
    private readonly runtimes: CustomToolRuntimes,
  ) {
    const { reloadIntervalMs } = config.customTools;
    this.loop = new IntervalLoop(
      () => this.look(),
      reloadIntervalMs,
      (error) => this.failed(error),
    );
  }

  start(): void {
    this.loop.start();
  }

  /** A look under way ends by itself. */
  stop(): void {
    void this.loop.stop();
  }

  private async look(): Promise<void> {
    const rows = await this.repository.states();
    this.isFailing = false;
    for (const row of rows) if (!this.isLoaded(row)) await this.load(row);
    const names = new Set(rows.map(({ name }) => name));
    for (const { definition } of this.runtimes.all()) {
      if (!names.has(definition.name)) await this.manager.load(definition.name);
    }
  }

  private isLoaded(row: ToolState): boolean {
    const wrapper = this.runtimes.get(row.name);
    if (row.status === 'inactive') return !wrapper;
    return wrapper?.isOf(row) === true || this.refused.get(row.name) === keyOf(row);
  }

  private async load(row: ToolState): Promise<void> {
    try {
      await this.manager.load(row.name);
      this.refused.delete(row.name);
    } catch (error) {
      this.refused.set(row.name, keyOf(row));
      this.logger.error(error, `${row.name} was not loaded`);
    }
  }

  /** The database may be away for long: one line is enough. */
  private failed(error: unknown): void {
    if (!this.isFailing) this.logger.error(error, 'What other replicas change is not seen for now');
    this.isFailing = true;
  }
}

const keyOf = ({ id, revision }: ToolState): string => `${id} ${revision}`;
