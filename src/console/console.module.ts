import { Module } from '@nestjs/common';
import { ConsoleController } from './console.controller.js';
import { ConsoleService } from './console.service.js';

/** The web console under /console/. */
@Module({ controllers: [ConsoleController], providers: [ConsoleService] })
export class ConsoleModule {}
