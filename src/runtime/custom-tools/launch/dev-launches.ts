import type { DynamicModule } from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { ConfigModule, loadConfig } from '../../../base/config/app-config.js';
import { DtoPipe } from '../../../web/rest/dto.pipe.js';
import { ToolSpawner } from '../../process-pool/process-pool.module.js';
import { Sandbox } from '../../sandbox/sandbox.js';
import { sandboxOfHost } from '../../sandbox/sandbox.module.js';
import { EnvCipher } from '../../secrets/env-cipher.js';
import { Accounts } from '../accounts/accounts.js';
import { BundleFolders } from '../bundles/bundle-folders.js';
import { initialTool } from '../entity/settings-rules.js';
import { CustomToolCreate } from '../entity/tool-settings.js';
import { LaunchPreparation } from './launch-preparation.js';
import { processLimits } from './probe-executable.js';
import { ToolSandbox } from './tool-sandbox.js';

/** Prepares tools for `toolkeeper tool dev` without a running server. */
export type DevLaunches = Awaited<ReturnType<typeof openDevLaunches>>;
/** A tool that is ready to be started. */
export type Launch = Awaited<ReturnType<DevLaunches['prepare']>>;

/** No real user id, so that the sandbox runs the tool as its author: another user may not read the author's files. */
const noUid = -1;
/** The sandbox asks the HTTP server for its address; here there is none. */
const noServer = { httpAdapter: { getHttpServer: () => ({ address: () => null }) } } as HttpAdapterHost;

/** Prepares tools as the server of these settings would, without its database. */
export async function openDevLaunches(environment: NodeJS.ProcessEnv, dataDir: string) {
  const config = loadConfig({ ...environment, TOOLKEEPER_DATA_DIR: dataDir });
  /** The variables of the tool that is being prepared: a server would decrypt them from the row. */
  let env = {};
  const module: DynamicModule = {
    module: class {},
    imports: [ConfigModule.forRoot(config)],
    providers: [
      LaunchPreparation,
      ToolSandbox,
      { provide: Sandbox, useFactory: () => sandboxOfHost(config, noServer, noUid) },
      { provide: EnvCipher, useValue: { open: () => env } },
      // Never called: a tool on the author's disk has no bundle and no accounts.
      { provide: BundleFolders, useValue: {} },
      { provide: Accounts, useValue: {} },
      { provide: ToolSpawner, useValue: { endsDescendants: false } },
      { provide: HttpAdapterHost, useValue: noServer },
    ],
  };
  const app = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  const { defaultTimeoutMs } = config.customTools;
  return {
    /** Prepares the tool of a tool.json. @throws Problem that its registration would cause */
    async prepare(manifest: object) {
      const create = await new DtoPipe().read(CustomToolCreate, manifest);
      const variables = Object.entries(create.env ?? {});
      env = Object.fromEntries(
        variables.map(([name, given]) => [name, typeof given === 'string' ? given : given.value]),
      );
      const own = { id: 'dev', userNumber: 0, env: {}, timeoutMs: defaultTimeoutMs, bundle: null };
      const tool = initialTool(create, own);
      const launch = await app.get(LaunchPreparation).prepare(tool);
      const confined = await app.get(ToolSandbox).confine(tool, launch);
      const limits = { ...processLimits(config.customTools, undefined), maxPendingInputBytes: 4_194_304 };
      return { ...confined, spec: confined.command, limits, timeoutMs: tool.timeoutMs };
    },
    close: () => app.close(),
  };
}
