import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { AppConfig } from '../config/app-config.js';
import { SandboxModule } from '../sandbox/sandbox.module.js';
import { ToolsModule } from '../tools/tools.module.js';
import { CustomTool, CustomToolImport } from './custom-tool.entity.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { CustomToolMonitor } from './custom-tool-monitor.js';
import { CustomToolRuntimes } from './custom-tool-runtimes.js';
import { CustomToolsController } from './custom-tools.controller.js';
import { CustomToolsRepository } from './custom-tools.repository.js';
import { CustomToolsService } from './custom-tools.service.js';
import { CustomToolsStartup } from './custom-tools.startup.js';
import { InstalledToolsImporter } from './installed-tools.importer.js';
import { ProcessLog } from './process-log.js';
import { ToolInspector } from './tool-inspector.js';
import { ToolLauncher } from './tool-launcher.js';

@Module({})
export class CustomToolsModule {
  /** With CUSTOM_TOOLS_ENABLED=false no custom tool is loaded and the routes answer 404. */
  static forRoot({ customTools }: AppConfig): DynamicModule {
    if (!customTools.enabled) return { module: CustomToolsModule };
    return {
      module: CustomToolsModule,
      imports: [TypeOrmModule.forFeature([CustomTool, CustomToolImport]), SandboxModule, ToolsModule],
      controllers: [CustomToolsController],
      providers: [
        CustomToolsRepository,
        ToolLauncher,
        ToolInspector,
        CustomToolRuntimes,
        CustomToolManager,
        CustomToolMonitor,
        InstalledToolsImporter,
        CustomToolsStartup,
        CustomToolsService,
        ProcessLog,
      ],
    };
  }
}
