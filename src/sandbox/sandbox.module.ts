import { Module } from '@nestjs/common';
import { join } from 'node:path';
import { APP_CONFIG, type AppConfig } from '../config/app-config.js';
import { hostVariable } from '../config/host-environment.js';
import { Contributors } from '../observability/contributors.js';
import { removeDeadLeaves } from './cgroups.js';
import { upToTier } from './enforcement.js';
import { probeHost } from './host-probe.js';
import { Sandbox } from './sandbox.js';

/** The sandbox of this host: its abilities are found out once, before anything is started. */
@Module({
  providers: [
    {
      provide: Sandbox,
      inject: [APP_CONFIG],
      useFactory: sandboxOfHost,
    },
  ],
  exports: [Sandbox],
})
export class SandboxModule {
  constructor(sandbox: Sandbox, contributors: Contributors) {
    // Never down: tools without a sandbox are the operator's choice, but it must not be overlooked.
    contributors.addHealth('sandbox', () => {
      const { enabled, tier, policy } = sandbox.status;
      if (enabled && tier > 0) return { status: 'up', enabled, tier, policy };
      return { status: 'degraded', enabled, tier, policy, message: 'tools run without a sandbox' };
    });
  }
}

async function sandboxOfHost({ customTools, sandbox, dataDir, root }: AppConfig): Promise<Sandbox> {
  const launcher = join(root, 'native', 'bin', `launcher-${process.arch}`);
  const found = await probeHost({
    path: `${hostVariable('PATH') ?? ''}:/usr/bin:/bin:/usr/local/bin`,
    launcher,
    cgroup: sandbox.cgroup,
  });
  removeDeadLeaves(found.cgroups);
  return new Sandbox({
    enabled: customTools.sandboxEnabled,
    mode: sandbox.policy,
    defaults: sandbox.defaults,
    abilities: upToTier(found, sandbox.maxTier),
    secrets: [dataDir],
  });
}
