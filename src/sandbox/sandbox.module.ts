import { Module } from '@nestjs/common';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { APP_CONFIG, type AppConfig, hostVariable } from '../config/app-config.js';
import { Contributors } from '../observability/contributors.js';
import { removeDeadLeaves } from './cgroups.js';
import { upToTier } from './enforcement.js';
import { probeHost } from './host-probe.js';
import { systemFiles } from './launch-files.js';
import { covers } from './places.js';
import { removeDeadPrivateFolders } from './private-folders.js';
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

/** Without keys (AUTH_MODE=off) a tool that reaches this server is its operator. */
const noOpenNetwork =
  'must not be open with AUTH_MODE=off: the tool could reach this server and change everything; name the hosts in allowedHosts, or let the server ask for keys';

async function sandboxOfHost({ auth, customTools, sandbox, dataDir, root }: AppConfig): Promise<Sandbox> {
  const launcher = join(root, 'native', 'bin', `launcher-${process.arch}`);
  const found = await probeHost({
    path: `${hostVariable('PATH') ?? ''}:/usr/bin:/bin:/usr/local/bin`,
    launcher,
    cgroup: sandbox.cgroup,
    firstUid: sandbox.firstUid,
  });
  removeDeadLeaves(found.cgroups);
  await removeDeadPrivateFolders(sandbox.firstUid);
  const own = await realpath(dataDir).catch(() => dataDir);
  const { read, run } = await systemFiles(true, true);
  const above = [...read, ...run].find((path) => covers(path, own));
  return new Sandbox({
    enabled: customTools.sandboxEnabled,
    mode: sandbox.policy,
    defaults: sandbox.defaults,
    abilities: {
      ...upToTier(found, sandbox.maxTier),
      ...(above !== undefined && {
        exposed: `TOOLKEEPER_DATA_DIR lies below ${above}, which every tool reads`,
      }),
    },
    secrets: [own],
    ...(auth.mode === 'off' && { noOpenNetwork }),
  });
}
