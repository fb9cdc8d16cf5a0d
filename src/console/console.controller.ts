import { Controller, Get, Headers, Param, Redirect, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/scopes.decorator.js';
import { ConsoleService } from './console.service.js';

/** The web console's files. They hold no secret: whoever opens them signs in by the API. */
@ApiExcludeController()
@Controller()
export class ConsoleController {
  constructor(private readonly service: ConsoleService) {}

  @Get()
  @Public()
  @Redirect()
  home(@Headers('accept') accept: string | undefined): { url: string } {
    return { url: this.service.home(accept) };
  }

  @Get('console/assets/:name')
  @Public()
  asset(
    @Param('name') name: string,
    @Headers('accept-encoding') encodings: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.service.asset(name, encodings, reply);
  }

  @Get(['console', 'console/*'])
  @Public()
  page(@Headers('accept') accept: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    return this.service.page(accept, reply);
  }
}
