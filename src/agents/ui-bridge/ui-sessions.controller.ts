import { Body, Controller, Delete, Param, Post, Put } from '@nestjs/common';
import { ApiCreatedResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { randomBytes } from 'node:crypto';
import { Problem } from '../../base/common/errors.js';
import { CurrentPrincipal } from '../../web/auth/principal.decorator.js';
import { Scopes } from '../../web/auth/scopes.decorator.js';
import { callerIdOf, type Principal } from '../../web/contract/principal.js';
import { AnswersNothing } from '../../web/rest/answers.decorator.js';
import { ApiProblems } from '../../web/rest/api-problems.decorator.js';
import { wrong } from '../../web/rest/wrong-field.js';
import * as dto from './ui-sessions.dto.js';
import { maxSessions, UiSessionsRepository } from './ui-sessions.repository.js';

/** Max size of a page's facts for agents. */
const maxContextBytes = 16_384;

/** Sessions of console tabs. Other callers than the session's own get `not_found`. */
@ApiTags('pages')
@Scopes('tools:call')
@ApiProblems('invalid_request', 'unauthorized', 'forbidden', 'database_unavailable')
@Controller('api/v1/ui/sessions')
export class UiSessionsController {
  constructor(private readonly repository: UiSessionsRepository) {}

  @Post()
  @ApiOperation({
    summary: 'Begin a session for a page',
    description:
      'Its calls come as `ui.call` and `ui.cancel` by `GET /api/v1/console/stream?topics=ui:<id>`, and `ui.grants` lists the other keys that asked to act on the page. The session ends a minute after its stream.',
  })
  @ApiCreatedResponse({ type: dto.UiSessionView })
  @ApiProblems('rate_limited')
  async createUiSession(@CurrentPrincipal() principal: Principal): Promise<dto.UiSessionView> {
    const id = `uis_${randomBytes(16).toString('base64url')}`;
    if (await this.repository.create(id, callerIdOf(principal))) return { id };
    const detail = `This caller has ${maxSessions} pages open already: close some`;
    throw new Problem('rate_limited', detail, { retryAfterMs: 60_000 });
  }

  @Put(':id/page')
  @AnswersNothing(
    'Report what the page shows',
    'And the tools that it provides now.',
    'Calls see the new page',
    'not_found',
  )
  async reportUiPage(
    @Param() { id }: dto.UiSessionParams,
    @Body() page: dto.UiPageBody,
    @CurrentPrincipal() principal: Principal,
  ): Promise<void> {
    if (Buffer.byteLength(JSON.stringify(page.context)) > maxContextBytes)
      throw wrong('/context', `must be at most ${maxContextBytes} bytes of JSON`);
    if (await this.repository.report(id, callerIdOf(principal), page)) return;
    throw new Problem('not_found', `There is no UI session ${id}`);
  }

  @Post(':id/answers/:callId')
  @AnswersNothing(
    'Answer a call',
    'The first answer counts; the same answer may be repeated. 409: there is a different answer. 410: nobody waits for it any more.',
    'The caller has the answer',
    'not_found',
    'conflict',
  )
  async answerUiCall(
    @Param() { id: session, callId }: dto.UiAnswerParams,
    @Body() answer: dto.UiAnswerBody,
    @CurrentPrincipal() principal: Principal,
  ): Promise<void> {
    const call = { id: callId, session, caller: callerIdOf(principal) };
    const outcome = await this.repository.answer(call, answer);
    if (outcome === 'stored') return;
    if (outcome === 'differs') throw new Problem('conflict', `The call ${callId} was answered otherwise`);
    if (outcome === 'over')
      throw new Problem('not_found', `The call ${callId} is over: nobody waits for it`, { status: 410 });
    throw new Problem('not_found', `There is no call ${callId} for this page`);
  }

  @Put(':id/grants/:caller')
  @AnswersNothing(
    'Let another key act on the page for 30 minutes',
    'For a key whose call was refused with `ui_not_granted`.',
    'Its next call reaches the page',
    'not_found',
  )
  grantUiPage(@Param() grant: dto.UiGrantParams, @CurrentPrincipal() principal: Principal): Promise<void> {
    return this.decide(grant, principal, 'granted');
  }

  @Delete(':id/grants/:caller')
  @AnswersNothing(
    "Refuse or end another key's leave to act on the page",
    'Its calls in flight end as `interrupted`. It may ask again after 30 minutes.',
    'It may not act on the page',
    'not_found',
  )
  async revokeUiPage(
    @Param() grant: dto.UiGrantParams,
    @CurrentPrincipal() principal: Principal,
  ): Promise<void> {
    await this.decide(grant, principal, 'refused');
    const message = 'The user does not let this key act on the page any more';
    const answer = { ok: false, error: { type: 'interrupted' as const, message } };
    await this.repository.answerCallsOf(grant.id, grant.caller, answer);
  }

  /** Stores the user's decision about a caller who asked. @throws Problem `not_found` if it did not ask */
  private async decide(
    { id, caller: grantee }: dto.UiGrantParams,
    principal: Principal,
    status: 'granted' | 'refused',
  ): Promise<void> {
    if (await this.repository.decide(id, callerIdOf(principal), grantee, status)) return;
    throw new Problem('not_found', `No caller ${grantee} asked for the page ${id}`);
  }
}
