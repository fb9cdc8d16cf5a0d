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
import { probeHost } from './host-probe.js';
import { systemFiles } from './launch-files.js';
import { covers } from './mounts.js';
import { makePrivateFolder, obstacleFor, removeDeadPrivateFolders } from './tool-user.js';
import { Sandbox } from './sandbox.js';

/** The sandbox of this host: its abilities are found out once, before anything is started. */
@Module({
  providers: [
    {
      provide: Sandbox,
      inject: [APP_CONFIG, HttpAdapterHost],
      useFactory: sandboxOfHost,
    },
  ],
  exports: [Sandbox],
})
export class SandboxModule {
  constructor(sandbox: Sandbox, contributors: Contributors) {
    // Never down: tools without a sandbox are the operator's choice, but it must not be overlooked.
    contributors.addHealth('sandbox', () => {
      const { enabled, tier, policy, grantable } = sandbox.status;
      const about = { enabled, tier, policy, grantable };
      if (enabled && tier > 0) return { status: 'up', ...about };
      return { status: 'degraded', ...about, message: 'tools run without a sandbox' };
    });
  }
}

/** Reason: with AUTH_MODE=off a tool that reaches this server is its operator. */
const noOpenNetwork =
  'must not be open with AUTH_MODE=off: the tool could reach this server and change everything; name the hosts in allowedHosts, or let the server ask for keys';

async function sandboxOfHost(config: AppConfig, host: HttpAdapterHost): Promise<Sandbox> {
  const { auth, customTools, sandbox, dataDir, recorder } = config;
  await removeDeadPrivateFolders(sandbox.firstUid);
  const built = join(projectRoot(), 'native', 'bin', `launcher-${process.arch}`);
  const copied = await copyForTools(built, sandbox.firstUid).catch(() => undefined);
  const launcher = copied ?? built;
  const found = await probeHost({
    path: `${hostVariable('PATH') ?? ''}:/usr/bin:/bin:/usr/local/bin`,
    launcher,
    cgroup: sandbox.cgroup,
    firstUid: sandbox.firstUid,
  });
  removeDeadLeaves(found.cgroups);
  const own = await realpath(dataDir).catch(() => dataDir);
  const { read, run } = await systemFiles(true, true);
  const above = [...read, ...run].find((path) => covers(path, own));
  return new Sandbox({
    enabled: sandbox.policy !== 'off',
    mode: sandbox.policy === 'best-effort' ? 'best-effort' : 'enforce',
    defaults: sandbox.defaults,
    abilities: {
      ...upToTier(found, sandbox.maxTier),
      ...(above !== undefined && {
        exposed: `TOOLKEEPER_DATA_DIR lies below ${above}, which every tool reads`,
      }),
    },
    uid: process.getuid?.() ?? 0,
    secrets: [own],
    ownPort: () => portOf(host.httpAdapter.getHttpServer() as Server),
    readOnly: [projectRoot(), customTools.dir, recorder.journalDir],
    grantable: sandbox.grantable,
    ...(copied !== undefined && { temporary: dirname(copied) }),
    ...(auth.mode === 'off' && { noOpenNetwork }),
  });
}

/**
 * Inside of bubblewrap the launcher is started by a tool's user. Where the project lies below a folder that is closed to
 * such users, a copy of it stands among the temporary files.
 * @returns the copy; undefined: none is needed
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
