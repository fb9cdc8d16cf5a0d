import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { StartupWork } from '../../../base/common/startup-work.js';
import { TableFollower } from '../../../base/database/table-follower.js';
import { serverOf } from '../../mcp-client/mcp-review.js';
import { ToolRegistry } from '../../../call/door/tool-registry.js';
import { CustomToolsRepository, statesMs } from '../entity/custom-tools.repository.js';
import { RunningTools } from '../running/running-tools.js';
import { CustomToolManager } from './custom-tool-manager.js';

/**
 * Loads what other replicas registered, changed, disabled or deleted as soon as the database notifies of it. The rounds
 * of the Reconciler look at the same rows, at files and at what could not be loaded.
 */
@Injectable()
export class ToolFollower implements OnApplicationBootstrap {
  private readonly logger = new Logger(ToolFollower.name);

  constructor(
    private readonly follower: TableFollower,
    private readonly repository: CustomToolsRepository,
    private readonly running: RunningTools,
    private readonly manager: CustomToolManager,
    private readonly registry: ToolRegistry,
    private readonly work: StartupWork,
  ) {}

  /** The work of the start lists all tools first, after their secrets were renewed. */
  onApplicationBootstrap(): void {
    void this.work.settled().then(() => {
      this.registry.fetch = (name) => this.fetch(name);
      const followed = { table: 'custom_tools', what: 'tools', everyMs: statesMs };
      this.follower.follow(followed, () => this.look());
    });
  }

  private async look(): Promise<void> {
    const rows = await this.repository.states();
    const active = new Map(rows.filter(({ status }) => status !== 'inactive').map((row) => [row.name, row]));
    const gone = [...this.running.offered.byTool.keys()].filter((name) => !active.has(name));
    const changed = [...active.values()].filter(
      (row) => !this.running.awaits(row.name) && !this.running.get(row.name)?.isOf(row),
    );
    await Promise.all([...gone, ...changed.map(({ name }) => name)].map((name) => this.load(name)));
  }

  private async fetch(name: string): Promise<void> {
    const server = serverOf(name);
    const tool =
      (await this.repository.find(name)) ??
      (server === undefined ? null : await this.repository.find(server));
    if (tool) await this.load(tool.name);
  }

  /** The next round of the Reconciler tries again, and logs what is in the way. */
  private async load(name: string): Promise<void> {
    await this.manager
      .load(name)
      .catch((error: unknown) => this.logger.debug(error, `${name} was not loaded at once`));
  }
}
