import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { Problem } from '../../base/common/errors.js';
import { callerIdOf, type Principal } from '../../web/contract/principal.js';
import { wrong } from '../../web/rest/wrong-field.js';
import type {
  UiAnswerBody,
  UiAnswerParams,
  UiGrantParams,
  UiPageBody,
  UiSessionParams,
  UiSessionView,
} from './ui-sessions.dto.js';
import { maxSessions, UiSessionsRepository } from './ui-sessions.repository.js';

/** Max size of a page's facts for agents. */
const maxContextBytes = 16_384;

/** Sessions of console tabs: their pages, their answers to calls, and the keys that may act on them. */
@Injectable()
export class UiSessionsService {
  constructor(private readonly repository: UiSessionsRepository) {}

  /** Begins a session. @throws Problem `rate_limited` if the caller has too many */
  async create(principal: Principal): Promise<UiSessionView> {
    const id = `uis_${randomBytes(16).toString('base64url')}`;
    if (await this.repository.create(id, callerIdOf(principal))) return { id };
    const detail = `This caller has ${maxSessions} pages open already: close some`;
    throw new Problem('rate_limited', detail, { retryAfterMs: 60_000 });
  }

  /** Stores what a page shows. @throws Problem `not_found`, `invalid_request` */
  async report({ id }: UiSessionParams, page: UiPageBody, principal: Principal): Promise<void> {
    if (Buffer.byteLength(JSON.stringify(page.context)) > maxContextBytes)
      throw wrong('/context', `must be at most ${maxContextBytes} bytes of JSON`);
    if (await this.repository.report(id, callerIdOf(principal), page)) return;
    throw new Problem('not_found', `There is no UI session ${id}`);
  }

  /** Answers a call. @throws Problem `not_found` (status 410 if nobody waits any more), `conflict` after another answer */
  async answer({ id, callId }: UiAnswerParams, answer: UiAnswerBody, principal: Principal): Promise<void> {
    const call = { id: callId, session: id, caller: callerIdOf(principal) };
    const outcome = await this.repository.answer(call, answer);
    if (outcome === 'stored') return;
    if (outcome === 'differs') throw new Problem('conflict', `The call ${callId} was answered otherwise`);
    if (outcome === 'over')
      throw new Problem('not_found', `The call ${callId} is over: nobody waits for it`, { status: 410 });
    throw new Problem('not_found', `There is no call ${callId} for this page`);
  }

  /** Lets another caller act on a page. @throws Problem `not_found` if it did not ask */
  grant({ id, caller }: UiGrantParams, principal: Principal): Promise<void> {
    return this.decide(id, caller, principal, 'granted');
  }

  /** Refuses another caller and ends its calls in flight. @throws Problem `not_found` */
  async revoke({ id, caller }: UiGrantParams, principal: Principal): Promise<void> {
    await this.decide(id, caller, principal, 'refused');
    const message = 'The user does not let this key act on the page any more';
    await this.repository.answerCallsOf(id, caller, { ok: false, error: { type: 'interrupted', message } });
  }

  /** Stores the user's decision about a caller who asked. @throws Problem `not_found` */
  private async decide(
    id: string,
    grantee: string,
    principal: Principal,
    status: 'granted' | 'refused',
  ): Promise<void> {
    if (await this.repository.decide(id, callerIdOf(principal), grantee, status)) return;
    throw new Problem('not_found', `No caller ${grantee} asked for the page ${id}`);
  }
}
