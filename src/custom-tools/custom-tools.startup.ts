import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { StartupWork } from '../common/startup-work.js';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { CustomToolMonitor } from './custom-tool-monitor.js';
import { CustomToolRuntimes } from './custom-tool-runtimes.js';
import { CustomToolsRepository } from './custom-tools.repository.js';
import { InstalledToolsImporter } from './installed-tools.importer.js';
import { ReplicaSync } from './replica-sync.js';
import { ToolReloader } from './tool-reloader.js';
import { SecretsRenewal } from './secrets/secrets-renewal.js';

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
  ) {}

  onApplicationBootstrap(): void {
    this.work.register('custom tools', this.load());
    this.work.register('secrets', this.renewal.run());
  }

  /** Calls in flight have had their time: the HTTP server, which closes next, would wait for them without end. */
  async beforeApplicationShutdown(): Promise<void> {
    for (const loop of [this.monitor, this.reloader, this.replicas]) loop.stop();
    await this.runtimes.stopAll();
  }

  private async load(): Promise<void> {
    if (!this.config.customTools.sandboxEnabled) {
      this.logger.warn('CUSTOM_TOOLS_SANDBOX_ENABLED=false: tools run without a sandbox');
    }
    try {
      for (const { name } of await this.repository.list()) {
        await this.manager
          .load(name)
          .catch((error: unknown) => this.logger.error(error, `${name} was not loaded`));
      }
      await this.importer.importAll();
    } finally {
      for (const loop of [this.monitor, this.reloader, this.replicas]) loop.start();
    }
  }
}
