import { Body, Controller, Delete, Param, Post, Put } from '@nestjs/common';
import { ApiCreatedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentPrincipal, type Principal } from '../../web/auth/principal.decorator.js';
import { Scopes } from '../../web/auth/scopes.decorator.js';
import { AnswersNothing } from '../../web/rest/answers.decorator.js';
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
  @AnswersNothing(
    'Report what the page shows',
    'And the tools that it provides now.',
    'Calls see the new page',
    'not_found',
  )
  reportUiPage(
    @Param() session: dto.UiSessionParams,
    @Body() page: dto.UiPageBody,
    @CurrentPrincipal() principal: Principal,
  ): Promise<void> {
    return this.service.report(session, page, principal);
  }

  @Post(':id/answers/:callId')
  @AnswersNothing(
    'Answer a call',
    'The first answer counts; the same answer may be repeated. 409: there is a different answer. 410: nobody waits for it any more.',
    'The caller has the answer',
    'not_found',
    'conflict',
  )
  answerUiCall(
    @Param() call: dto.UiAnswerParams,
    @Body() answer: dto.UiAnswerBody,
    @CurrentPrincipal() principal: Principal,
  ): Promise<void> {
    return this.service.answer(call, answer, principal);
  }

  @Put(':id/grants/:caller')
  @AnswersNothing(
    'Let another key act on the page for 30 minutes',
    'For a key whose call was refused with `ui_not_granted`.',
    'Its next call reaches the page',
    'not_found',
  )
  grantUiPage(@Param() grant: dto.UiGrantParams, @CurrentPrincipal() principal: Principal): Promise<void> {
    return this.service.grant(grant, principal);
  }

  @Delete(':id/grants/:caller')
  @AnswersNothing(
    "Refuse or end another key's leave to act on the page",
    'Its calls in flight end as `interrupted`. It may ask again after 30 minutes.',
    'It may not act on the page',
    'not_found',
  )
  revokeUiPage(@Param() grant: dto.UiGrantParams, @CurrentPrincipal() principal: Principal): Promise<void> {
    return this.service.revoke(grant, principal);
  }
}
