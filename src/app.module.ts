import { type DynamicModule, Module } from '@nestjs/common';
import { AssistantModule } from './agents/assistant/assistant.module.js';
import { AuditModule } from './web/auth/audit/audit.module.js';
import { AuthModule, KeysModule } from './web/auth/auth.module.js';
import { BuiltinToolsModule } from './runtime/builtin-tools/builtin-tools.module.js';
import { LifecycleModule } from './edge/http/lifecycle.module.js';
import { type AppConfig, ConfigModule } from './base/config/app-config.js';
import { ConsoleModule } from './edge/console/console.module.js';
import { CustomToolsModule } from './runtime/custom-tools/custom-tools.module.js';
import { DatabaseModule } from './base/database/database.module.js';
import { EventsModule } from './insight/events/events.module.js';
import { ExperimentsModule } from './agents/experiments/experiments.module.js';
import { JobsModule } from './base/jobs/jobs.module.js';
import { HealthModule } from './edge/health/health.module.js';
import { McpModule } from './edge/mcp-server/mcp.module.js';
import { LoggingModule } from './base/observability/logging.module.js';
import { MetricsModule } from './base/observability/metrics.module.js';
import { TracingModule } from './base/observability/tracing/tracing.module.js';
import { PlaybookSearchModule } from './agents/playbook-search/playbook-search.module.js';
import { PlaybooksModule } from './agents/playbooks/playbooks.module.js';
import { ToolsModule } from './call/door/tools.module.js';
import { TraceToolsModule } from './agents/trace-tools/trace-tools.module.js';
import { TracesModule } from './records/spans/traces.module.js';
import { UiBridgeModule } from './agents/ui-bridge/ui-bridge.module.js';

const grpcModule = async () => ({ module: (await import('./edge/grpc/grpc.module.js')).GrpcModule });

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
        // With its library it takes 5 MB: a server without gRPC loads none of it.
        ...(config.server.grpcPort === undefined ? [] : [grpcModule()]),
        EventsModule,
        CustomToolsModule.forRoot(config),
        PlaybooksModule,
        PlaybookSearchModule.forRoot(config),
        ConsoleModule,
      ],
    };
  }
}
