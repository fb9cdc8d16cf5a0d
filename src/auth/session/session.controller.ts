import { Body, Controller, Delete, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiProblems } from '../../rest/api-problems.decorator.js';
import { Public, Scopes } from '../scopes.decorator.js';
import { NewSessionView, SessionView, SignInBody } from './session.dto.js';
import { SessionService } from './session.service.js';

@ApiTags('session')
@ApiProblems('unauthorized', 'forbidden')
@Controller('api/v1/session')
export class SessionController {
  constructor(private readonly service: SessionService) {}

  @Post()
  @Public()
  @ApiOperation({
    summary: 'Sign a browser in',
    description:
      'The answer sets a cookie, which no script can read, and holds the CSRF token. The cookie alone reads, streams included; whatever is not GET also shows the CSRF token, in `x-toolkeeper-session`, and comes from a page of this server. A session opens what its key opens, for twelve hours, and ends with the key.',
  })
  @ApiCreatedResponse({ type: NewSessionView })
  @ApiProblems('invalid_request', 'payload_too_large', 'conflict', 'rate_limited')
  signIn(
    @Body() body: SignInBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NewSessionView> {
    return this.service.signIn(body, request, reply);
  }

  @Get()
  @Scopes()
  @ApiOperation({
    summary: 'Who am I, and what may I do',
    description: 'For any caller, by a session, a key, or without either.',
  })
  @ApiOkResponse({ type: SessionView })
  getSession(@Req() request: FastifyRequest): Promise<SessionView> {
    return this.service.show(request);
  }

  @Delete()
  @Public()
  @HttpCode(204)
  @ApiOperation({
    summary: 'Sign this browser out',
    description: 'Takes the cookie out of the browser. A session that was copied ends with its key.',
  })
  @ApiNoContentResponse({ description: 'The cookie is gone' })
  signOut(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): void {
    this.service.signOut(request, reply);
  }
}
