import { Module } from '@nestjs/common';
import { ConsoleController } from './console.controller.js';

/** The web console under /console/. */
@Module({ controllers: [ConsoleController] })
export class ConsoleModule {}
