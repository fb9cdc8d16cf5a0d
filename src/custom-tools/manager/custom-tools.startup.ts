import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { StartupWork } from '../../common/startup-work.js';
import { RunningTools } from '../running/running-tools.js';
import { SecretsRenewal } from '../../secrets/secrets-renewal.js';
import { Reconciler } from './reconciler.js';

/** Brings the custom tools up in the background, which readiness waits for, and ends them with the server. */
@Injectable()
export class CustomToolsStartup implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    private readonly work: StartupWork,
    private readonly renewal: SecretsRenewal,
    private readonly reconciler: Reconciler,
    private readonly running: RunningTools,
  ) {}

  onApplicationBootstrap(): void {
    // Before the first tool is loaded: what a revision holds is compared by how its values are sealed.
    const renewed = this.renewal.run();
    this.work.register('secrets', renewed);
    const start = (): Promise<void> => this.reconciler.start();
    // Tools whose values are as they should be run, whatever became of the others.
    this.work.register('custom tools', renewed.then(start, start));
  }

  /** Calls in flight have had their time: the HTTP server, which closes next, would wait for them without end. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.reconciler.stop();
    await this.running.stopAll();
  }
}
