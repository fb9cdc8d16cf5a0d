import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { abortable } from '../../base/common/abortable.js';
import { Problem } from '../../base/common/errors.js';
import { KeyRing, SealedValues } from '../../base/config/key-ring.js';
import { DatabaseHealth } from '../../base/database/database-health.js';
import { Replicas } from '../../base/database/replicas.js';
import type { Answered } from '../../web/contract/asks.js';
import { callerIdOf, type Principal } from '../../web/contract/principal.js';

/** An answer, as replicas send it to each other. */
interface GivenAnswer {
  readonly id: string;
  /** The caller that answers. */
  readonly by: string;
  readonly answer: Answered;
}

/** A question that waits at this replica. */
interface OpenQuestion {
  /** The caller that may answer. */
  readonly by: string;
  readonly resolve: (answer: Answered) => void;
}

/** The stream of a caller, which shows questions. */
interface Addressee {
  /** Shows the question. @param id for its answer */
  send(id: string): void;
  /** Reports that no answer is needed any more. */
  withdraw(id: string): void;
}

/** Beginning of a notification with an answer. */
const noticePrefix = 'answered ';
/** Max bytes of an answer, because a notification of PostgreSQL has at most 8,000. */
const maxNoticeBytes = 7_900;

/**
 * Questions of tools that wait at this replica for an answer. The answer is a separate request: another replica that receives
 * it forwards it in an encrypted notification of the database.
 */
@Injectable()
export class OpenQuestions {
  /** By id. */
  private readonly open = new Map<string, OpenQuestion>();
  /** Encrypts answers for other replicas. */
  private readonly sealed: SealedValues;

  constructor(
    keys: KeyRing,
    private readonly database: DatabaseHealth,
    private readonly replicas: Replicas,
  ) {
    this.sealed = new SealedValues(keys, 'answers');
    database.changes.subscribe((payload) => {
      if (!payload.startsWith(noticePrefix) || this.open.size === 0) return;
      const given = this.sealed.open(payload.slice(noticePrefix.length));
      if (given) this.deliver(given as GivenAnswer);
    });
  }

  /**
   * Waits for the caller's answer.
   * @param to sends the question with the id for its answer, and withdraws it if no answer is needed any more
   * @throws the reason of `ended`, which aborts when the call has ended
   */
  async ask(caller: Principal, to: Addressee, ended: AbortSignal): Promise<Answered> {
    const id = randomBytes(16).toString('hex');
    const { promise, resolve } = Promise.withResolvers<Answered>();
    this.open.set(id, { by: callerIdOf(caller), resolve });
    try {
      to.send(id);
      return await abortable(promise, ended);
    } catch (error) {
      to.withdraw(id);
      throw error;
    } finally {
      this.open.delete(id);
    }
  }

  /**
   * Passes an answer to the waiting call, at any replica.
   * @throws Problem `not_found`, `payload_too_large`, `database_unavailable`
   */
  async answer(caller: Principal, id: string, answer: Answered): Promise<void> {
    const given = { id, by: callerIdOf(caller), answer };
    if (this.deliver(given)) return;
    if (this.replicas.count <= 1)
      throw new Problem('not_found', 'No call of this caller waits for this answer');
    const payload = noticePrefix + this.sealed.seal(given);
    if (payload.length > maxNoticeBytes) {
      const detail = `The call runs at another replica, for which an answer may have ${maxNoticeBytes} bytes when sealed, and has ${payload.length}`;
      throw new Problem('payload_too_large', detail);
    }
    await this.database.query("SELECT pg_notify('toolkeeper', $1)", [payload]);
  }

  /** Gives an answer to the call that waits for it here. @returns false if none does */
  private deliver({ id, by, answer }: GivenAnswer): boolean {
    const question = this.open.get(id);
    if (question?.by !== by) return false;
    question.resolve(answer);
    return true;
  }
}
