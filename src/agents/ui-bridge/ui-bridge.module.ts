import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../web/auth/auth.module.js';
import { ToolRegistry } from '../../call/door/tool-registry.js';
import { ToolsModule } from '../../call/door/tools.module.js';
import { UiBridge } from './ui-bridge.js';
import { UiSessionsController } from './ui-sessions.controller.js';
import { UiSessionsRepository } from './ui-sessions.repository.js';
import { uiTools } from './ui-tools.js';

/** Tools that are answered by a page of the console, and the sessions of its tabs. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([]), AuthModule, ToolsModule],
  controllers: [UiSessionsController],
  providers: [UiBridge, UiSessionsRepository],
})
export class UiBridgeModule {
  constructor(registry: ToolRegistry, bridge: UiBridge) {
    for (const tool of uiTools(bridge)) registry.register(tool);
  }
}
