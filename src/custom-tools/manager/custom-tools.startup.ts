import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Problem } from '../../common/errors.js';
import { StartupWork } from '../../common/startup-work.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { Sandbox } from '../../sandbox/sandbox.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { CustomToolMonitor } from './custom-tool-monitor.js';
import { CustomToolRuntimes } from '../running/custom-tool-runtimes.js';
import { CustomToolsRepository } from '../entity/custom-tools.repository.js';
import { InstalledToolsImporter } from './installed-tools.importer.js';
import { ReplicaSync } from './replica-sync.js';
import { ToolReloader } from './tool-reloader.js';
import { SecretsRenewal } from '../secrets/secrets-renewal.js';
import { brokenBy } from '../entity/tool-condition.js';

/** Loads the registered tools and imports the installed ones in the background; readiness waits for it. */
@Injectable()
export class CustomToolsStartup implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(CustomToolsStartup.name);

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly work: StartupWork,
    private readonly repository: CustomToolsRepository,
    private readonly manager: CustomToolManager,
    private readonly importer: InstalledToolsImporter,
    private readonly monitor: CustomToolMonitor,
    private readonly reloader: ToolReloader,
    private readonly replicas: ReplicaSync,
    private readonly runtimes: CustomToolRuntimes,
    private readonly renewal: SecretsRenewal,
    private readonly sandbox: Sandbox,
  ) {}

  onApplicationBootstrap(): void {
    // Before the first tool is loaded: what a revision holds is compared by how its values are sealed.
    const renewed = this.renewal.run();
    this.work.register('secrets', renewed);
    this.work.register(
      'custom tools',
      renewed.then(noMatter, noMatter).then(() => this.load()),
    );
  }

  /** Calls in flight have had their time: the HTTP server, which closes next, would wait for them without end. */
  async beforeApplicationShutdown(): Promise<void> {
    for (const loop of [this.monitor, this.reloader, this.replicas]) loop.stop();
    await this.runtimes.stopAll();
  }

  /** A sandbox that is off, or weaker than it could be, is loud. */
  private sayWhatHolds(): void {
    const { enabled, tier, missing, keysAreRead } = this.sandbox.status;
    if (!enabled) this.logger.warn('CUSTOM_TOOLS_SANDBOX_ENABLED=false: TOOLS RUN WITHOUT A SANDBOX');
    else if (tier === 0) this.logger.warn({ missing }, 'this host has no sandbox: TOOLS RUN WITHOUT ONE');
    if (keysAreRead) this.logger.warn(`TOOLS CAN READ THE ADMIN KEY and all else in ${this.config.dataDir}`);
    if (enabled && tier > 0 && tier < 3)
      this.logger.warn({ missing }, `the sandbox is of tier ${tier} of 3 (docs/sandbox.md)`);
    if (tier === 3) this.logger.log('the sandbox is of tier 3 of 3');
    if (tier > 0 && missing.toolUsers !== undefined) {
      this.logger.warn(`tools run as root, as the gateway does: ${missing.toolUsers}`);
    }
  }

  /** What is wrong with the tool itself, such as a schema that costs too much here, shows in its status. */
  private async notLoaded(name: string, error: unknown): Promise<void> {
    this.logger.error(error, `${name} was not loaded`);
    if (error instanceof Problem) await this.repository.setCondition(name, brokenBy(error.detail));
  }

  private async load(): Promise<void> {
    this.sayWhatHolds();
    try {
      for (const { name } of await this.repository.list()) {
        await this.manager.load(name).catch((error: unknown) => this.notLoaded(name, error));
      }
      await this.importer.importAll();
    } finally {
      for (const loop of [this.monitor, this.reloader, this.replicas]) loop.start();
    }
  }
}

/** Tools whose values are as they should be run all the same. */
const noMatter = (): void => undefined;
