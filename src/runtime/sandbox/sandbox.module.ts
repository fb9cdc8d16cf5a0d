import { Module } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { chmod, copyFile, realpath } from 'node:fs/promises';
import type { Server } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { projectRoot } from '../../base/common/project.js';
import { APP_CONFIG, type AppConfig, hostVariable } from '../../base/config/app-config.js';
import { Contributors } from '../../base/observability/contributors.js';
import { portOf } from '../../base/outbound/addresses.js';
import { removeDeadLeaves } from './cgroups.js';
import { upToTier } from './enforcement.js';
import { makePrivateFolder, obstacleFor, removeDeadPrivateFolders } from './path-access.js';
import { probeHost } from './host-probe.js';
import { covers, systemFiles } from './mounts.js';
import { Sandbox } from './sandbox.js';

/** The sandbox of this host, whose abilities are probed once at the start. */
@Module({
  providers: [
    {
      provide: Sandbox,
      inject: [APP_CONFIG, HttpAdapterHost],
      useFactory: (config: AppConfig, host: HttpAdapterHost) => sandboxOfHost(config, host),
    },
  ],
  exports: [Sandbox],
})
export class SandboxModule {
  constructor(sandbox: Sandbox, contributors: Contributors) {
    // Never down, because operators may choose to run tools without a sandbox.
    contributors.addHealth('sandbox', () => {
      const { enabled, tier, policy, grantable } = sandbox.status;
      const about = { enabled, tier, policy, grantable };
      if (enabled && tier > 0) return { status: 'up', ...about };
      return { status: 'degraded', ...about, message: 'tools run without a sandbox' };
    });
  }
}

/** The refusal of open networks with AUTH_MODE=off: a tool that reaches this server has all rights of its operator. */
const noOpenNetwork =
  'must not be open with AUTH_MODE=off: the tool could reach this server and change everything; name the hosts in allowedHosts, or let the server ask for keys';

/** Probes the host and makes its sandbox. @param uid of this server; only root can give each tool a user of its own */
export async function sandboxOfHost(
  config: AppConfig,
  host: HttpAdapterHost,
  uid = process.getuid?.() ?? 0,
): Promise<Sandbox> {
  const { auth, customTools, sandbox, dataDir, recorder } = config;
  await removeDeadPrivateFolders(sandbox.firstUid);
  const binary = join(projectRoot(), 'native', 'bin', `launcher-${process.arch}`);
  const copy = await copyForTools(binary, sandbox.firstUid).catch(() => undefined);
  const launcher = copy ?? binary;
  const abilities = await probeHost({
    path: `${hostVariable('PATH') ?? ''}:/usr/bin:/bin:/usr/local/bin`,
    launcher,
    cgroup: sandbox.cgroup,
    firstUid: sandbox.firstUid,
  });
  removeDeadLeaves(abilities.cgroups);
  const realDataDir = await realpath(dataDir).catch(() => dataDir);
  const { read, run } = await systemFiles({ execute: true, network: true });
  const exposedBy = [...read, ...run].find((path) => covers(path, realDataDir));
  return new Sandbox({
    enabled: sandbox.policy !== 'off',
    mode: sandbox.policy === 'best-effort' ? 'best-effort' : 'enforce',
    defaults: sandbox.defaults,
    abilities: {
      ...upToTier(abilities, sandbox.maxTier),
      ...(exposedBy !== undefined && {
        exposed: `TOOLKEEPER_DATA_DIR lies below ${exposedBy}, which every tool can read`,
      }),
    },
    uid,
    secrets: [realDataDir],
    ownPort: () => portOf(host.httpAdapter.getHttpServer() as Server),
    readOnly: [projectRoot(), customTools.dir, recorder.journalDir],
    grantable: sandbox.grantable,
    ...(copy !== undefined && { temporary: dirname(copy) }),
    ...(auth.mode === 'off' && { noOpenNetwork }),
  });
}

/**
 * Copies the launcher to a temporary folder if users of tools cannot run it where it is: inside bubblewrap it is started
 * as such a user.
 * @returns the copy; undefined if none is needed
 */
async function copyForTools(launcher: string, firstUid: number): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  if ((await obstacleFor(firstUid, { path: launcher, use: 'run' })) === undefined) return undefined;
  const folder = await makePrivateFolder();
  await chmod(folder, 0o711);
  const copy = join(folder, basename(launcher));
  await copyFile(launcher, copy);
  await chmod(copy, 0o755);
  return copy;
}
