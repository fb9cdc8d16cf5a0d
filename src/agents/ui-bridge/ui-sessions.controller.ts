import { Body, Controller, Delete, HttpCode, Param, Post, Put } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, type Principal } from '../../web/auth/principal.decorator.js';
import { Scopes } from '../../web/auth/scopes.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import * as dto from './ui-sessions.dto.js';
import { UiSessionsService } from './ui-sessions.service.js';

/** Sessions of console tabs. Other callers than the session's own get `not_found`. */
@ApiTags('pages')
@Scopes('tools:call')
@ApiProblems('invalid_request', 'unauthorized', 'forbidden', 'database_unavailable')
@Controller('api/v1/ui/sessions')
export class UiSessionsController {
  constructor(private readonly service: UiSessionsService) {}

  @Post()
  @ApiOperation({
    summary: 'Begin a session for a page',
    description:
      'Its calls come as `ui.call` and `ui.cancel` by `GET /api/v1/console/stream?topics=ui:<id>`, and `ui.grants` lists the other keys that asked to act on the page. The session ends a minute after its stream.',
  })
  @ApiCreatedResponse({ type: dto.UiSessionView })
  @ApiProblems('rate_limited')
  createUiSession(@CurrentPrincipal() principal: Principal): Promise<dto.UiSessionView> {
    return this.service.create(principal);
  }

  @Put(':id/page')
  @HttpCode(204)
  @ApiOperation({ summary: 'Report what the page shows', description: 'And the tools that it provides now.' })
  @ApiNoContentResponse({ description: 'Calls see the new page' })
  @ApiProblems('not_found')
  reportUiPage(
    @Param() session: dto.UiSessionParams,
    @Body() page: dto.UiPageBody,
    @CurrentPrincipal() principal: Principal,
  ): Promise<void> {
    return this.service.report(session, page, principal);
  }

  @Post(':id/answers/:callId')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Answer a call',
    description:
      'The first answer counts; the same answer may be repeated. 409: there is a different answer. 410: nobody waits for it any more.',
  })
  @ApiNoContentResponse({ description: 'The caller has the answer' })
  @ApiProblems('not_found', 'conflict')
  answerUiCall(
    @Param() call: dto.UiAnswerParams,
    @Body() answer: dto.UiAnswerBody,
    @CurrentPrincipal() principal: Principal,
  ): Promise<void> {
    return this.service.answer(call, answer, principal);
  }

  @Put(':id/grants/:caller')
  @HttpCode(204)
  @ApiOperation({
    summary: 'Let another key act on the page for 30 minutes',
    description: 'For a key whose call was refused with `ui_not_granted`.',
  })
  @ApiNoContentResponse({ description: 'Its next call reaches the page' })
  @ApiProblems('not_found')
  grantUiPage(@Param() grant: dto.UiGrantParams, @CurrentPrincipal() principal: Principal): Promise<void> {
    return this.service.grant(grant, principal);
  }

  @Delete(':id/grants/:caller')
  @HttpCode(204)
  @ApiOperation({
    summary: "Refuse or end another key's leave to act on the page",
    description: 'Its calls in flight end as `interrupted`. It may ask again after 30 minutes.',
  })
  @ApiNoContentResponse({ description: 'It may not act on the page' })
  @ApiProblems('not_found')
  revokeUiPage(@Param() grant: dto.UiGrantParams, @CurrentPrincipal() principal: Principal): Promise<void> {
    return this.service.revoke(grant, principal);
  }
}
