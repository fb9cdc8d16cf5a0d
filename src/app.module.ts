import { type DynamicModule, Module } from '@nestjs/common';
import { AssistantModule } from './assistant/assistant.module.js';
import { AuditModule } from './auth/audit/audit.module.js';
import { AuthModule, KeysModule } from './auth/auth.module.js';
import { BuiltinToolsModule } from './builtin-tools/builtin-tools.module.js';
import { LifecycleModule } from './lifecycle.module.js';
import { type AppConfig, ConfigModule } from './config/app-config.js';
import { ConsoleModule } from './console/console.module.js';
import { CustomToolsModule } from './custom-tools/custom-tools.module.js';
import { DatabaseModule } from './database/database.module.js';
import { EventsModule } from './events/events.module.js';
import { ExperimentsModule } from './experiments/experiments.module.js';
import { JobsModule } from './jobs/jobs.module.js';
import { HealthModule } from './health/health.module.js';
import { McpModule } from './mcp/server/mcp.module.js';
import { LoggingModule } from './observability/logging.module.js';
import { MetricsModule } from './observability/metrics.module.js';
import { TracingModule } from './observability/tracing/tracing.module.js';
import { PlaybookSearchModule } from './playbook-search/playbook-search.module.js';
import { PlaybooksModule } from './playbooks/playbooks.module.js';
import { ToolsModule } from './tools/tools.module.js';
import { TraceToolsModule } from './trace-tools/trace-tools.module.js';
import { TracesModule } from './records/spans/traces.module.js';
import { UiBridgeModule } from './ui-bridge/ui-bridge.module.js';

/** The list of modules; each brings in what it stands on. */
@Module({})
export class AppModule {
  static forRoot(config: AppConfig): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        LifecycleModule,
        LoggingModule,
        MetricsModule.forRoot(),
        TracingModule,
        DatabaseModule,
        JobsModule,
        AuthModule,
        KeysModule,
        AuditModule,
        HealthModule,
        ToolsModule,
        BuiltinToolsModule,
        TracesModule,
        TraceToolsModule,
        ExperimentsModule,
        UiBridgeModule,
        AssistantModule,
        McpModule,
        EventsModule,
        CustomToolsModule.forRoot(config),
        PlaybooksModule,
        PlaybookSearchModule.forRoot(config),
        ConsoleModule,
      ],
    };
  }
}
