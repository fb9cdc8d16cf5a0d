import { Module } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { StartupWork } from '../common/startup-work.js';
import { InvestigationsModule } from '../investigations/investigations.module.js';
import { Contributors } from '../observability/contributors.js';
import { Tracer } from '../observability/tracing/tracer.js';
import { RepetitionModule } from '../repetition/repetition.module.js';
import { ToolHealthModule } from '../tool-health/tool-health.module.js';
import { ToolMetricsModule } from '../tool-metrics/tool-metrics.module.js';
import { CachedGateway } from './cached-gateway.js';
import { InputLimits } from './input-limits.js';
import { ToolDoor } from './tool-door.js';
import { ToolGateway } from './tool-gateway.js';
import { ToolRegistry } from './tool-registry.js';
import { ToolsController } from './tools.controller.js';
import { ToolsService } from './tools.service.js';
import { TracedDoor } from './traced-door.js';

/** Only the registry and the service in front of the door leave this room; the gateway stays inside. */
@Module({
  imports: [ToolMetricsModule, ToolHealthModule, InvestigationsModule, RepetitionModule],
  controllers: [ToolsController],
  providers: [
    ToolRegistry,
    ToolGateway,
    CachedGateway,
    {
      provide: ToolDoor,
      inject: [ModuleRef, Tracer],
      useFactory: (modules: ModuleRef, { on }: Tracer) => modules.create(on ? TracedDoor : ToolDoor),
    },
    InputLimits,
    ToolsService,
  ],
  exports: [ToolRegistry, ToolsService],
})
export class ToolsModule {
  constructor(registry: ToolRegistry, startupWork: StartupWork, contributors: Contributors) {
    // Up as soon as every tool that was to be loaded has been tried: one that failed does not hold the others back.
    contributors.addHealth('tools', () => {
      const registered = registry.size;
      if (startupWork.isSettled()) return { status: 'up', registered };
      return { status: 'down', registered, message: 'still loading' };
    });
  }
}
