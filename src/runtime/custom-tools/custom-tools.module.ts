import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { AppConfig } from '../../base/config/app-config.js';
import { ProcessPoolModule } from '../process-pool/process-pool.module.js';
import { SandboxModule } from '../sandbox/sandbox.module.js';
import { AuthModule } from '../../web/auth/auth.module.js';
import { ToolsModule } from '../../call/door/tools.module.js';
import { Accounts } from './accounts/accounts.js';
import { AccountsController } from './http/accounts.controller.js';
import { SignInController } from './http/sign-in.controller.js';
import { FirstListing } from './manager/first-listing.js';
import { CustomTool, CustomToolImport } from './entity/custom-tool.entity.js';
import { CustomToolManager } from './manager/custom-tool-manager.js';
import { ToolPlanner } from './manager/tool-planner.js';
import { TemplatesController } from './http/templates.controller.js';
import { DryRunsController } from './http/dry-runs.controller.js';
import { RunningTools } from './running/running-tools.js';
import { CustomToolsController } from './http/custom-tools.controller.js';
import { ToolStates } from './state/tool-states.js';
import { CustomToolsRepository } from './state/custom-tools.repository.js';
import { BundleFolders } from './bundles/bundle-folders.js';
import { Bundles } from './bundles/bundles.js';
import { BundlesRepository } from './bundles/bundles.repository.js';
import { InstalledToolsImporter } from './manager/installed-tools.importer.js';
import { FleetLogs } from './logs/fleet-logs.js';
import { ToolLogs } from './logs/tool-logs.js';
import { ToolLogsController } from './http/tool-logs.controller.js';
import { ToolSupervisor } from './state/tool-supervisor.js';
import { Reconciler } from './manager/reconciler.js';
import { ProcessMetrics, processMetrics } from './running/process.metrics.js';
import { ProcessRenewal } from './running/process-renewal.js';
import { KeyRing } from '../../base/config/key-ring.js';
import { EnvCipher } from '../secrets/env-cipher.js';
import { SecretsRenewal } from '../secrets/secrets-renewal.js';
import { ToolInspector } from './launch/tool-inspector.js';
import { LaunchPreparation } from './launch/launch-preparation.js';
import { ToolSandbox } from './launch/tool-sandbox.js';
import { CustomToolRevision } from './entity/tool-revision.entity.js';
import { McpToolsController } from './http/mcp-tools.controller.js';
import { ToolRevisionsController } from './http/tool-revisions.controller.js';
import { ToolRevisionsRepository } from './entity/tool-revisions.repository.js';

const bundles = [BundlesRepository, BundleFolders, Bundles];

@Module({})
export class CustomToolsModule {
  /** With CUSTOM_TOOLS_ENABLED=false there are no custom tools, and their routes answer 404. */
  static forRoot({ customTools }: AppConfig): DynamicModule {
    if (!customTools.enabled) return { module: CustomToolsModule };
    return {
      module: CustomToolsModule,
      imports: [
        TypeOrmModule.forFeature([CustomTool, CustomToolImport, CustomToolRevision]),
        ProcessPoolModule,
        SandboxModule,
        ToolsModule,
        AuthModule,
      ],
      controllers: [
        TemplatesController,
        DryRunsController,
        ToolLogsController,
        CustomToolsController,
        McpToolsController,
        ToolRevisionsController,
        AccountsController,
        SignInController,
      ],
      providers: [
        CustomToolsRepository,
        ToolStates,
        ToolSandbox,
        ToolRevisionsRepository,
        ToolInspector,
        RunningTools,
        ToolPlanner,
        CustomToolManager,
        ...bundles,
        InstalledToolsImporter,
        Reconciler,
        ...processMetrics,
        ProcessMetrics,
        ToolSupervisor,
        ProcessRenewal,
        LaunchPreparation,
        Accounts,
        FirstListing,
        ToolLogs,
        FleetLogs,
        SecretsRenewal,
        {
          provide: EnvCipher,
          inject: [KeyRing],
          useFactory: (keys: KeyRing) => new EnvCipher(keys),
        },
      ],
    };
  }
}
