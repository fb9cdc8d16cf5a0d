import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../web/auth/auth.module.js';
import { LlmModule } from '../llm/llm.module.js';
import { ToolsModule } from '../../call/door/tools.module.js';
import { AssistantController } from './assistant.controller.js';
import { AssistantService } from './assistant.service.js';
import { ChatTools } from './chat-tools.js';
import { ChatsRepository } from './chats.repository.js';
import { ChatModel } from './model.js';
import { Turns } from './turns.js';

/** Chats in which a language model calls the tools for a person. */
@Module({
  // TypeORM closes its connections after the modules that import it.
  imports: [TypeOrmModule.forFeature([]), AuthModule, LlmModule, ToolsModule],
  controllers: [AssistantController],
  providers: [ChatsRepository, ChatModel, ChatTools, Turns, AssistantService],
})
export class AssistantModule {}
