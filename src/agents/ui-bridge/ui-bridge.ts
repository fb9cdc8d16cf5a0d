import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { abortable } from '../../base/common/abortable.js';
import { Problem, Refusal } from '../../base/common/errors.js';
import { KeyedMutex } from '../../base/common/keyed-mutex.js';
import { TableFollower } from '../../base/database/table-follower.js';
import { EventRing, type Placed } from '../../base/streams/event-ring.js';
import { StreamTopics } from '../../base/streams/stream-topics.js';
import type { BuiltinRun } from '../../web/contract/define-tool.js';
import { callerIdOf, type Principal } from '../../web/contract/principal.js';
import type { Lister, ToolRun } from '../../web/contract/tool.js';
import { ToolFailure } from '../../web/contract/tool-outcome.js';
import type { UiAnswerBody } from './ui-sessions.dto.js';
import {
  type UiCallRow,
  type UiGrant,
  type UiSession,
  UiSessionsRepository,
} from './ui-sessions.repository.js';

/** An event of a tab's stream. */
interface UiEvent {
  readonly type: 'ui.call' | 'ui.cancel' | 'ui.grants';
  readonly [member: string]: unknown;
}

/** A tab of the console whose stream is open at this replica. */
interface HeldTab {
  /** Id of the tab's UI session. */
  readonly session: string;
  /** Id of the stream; a tab that reconnects gets another one. */
  readonly stream: string;
  readonly ring: EventRing<UiEvent>;
  /** Ids of calls that were sent to the page and have no answer yet. */
  readonly sent: Set<string>;
  /** When the stream was opened (`performance.now()`). */
  readonly openedAt: number;
  /** The grants that were last sent to the page, as JSON. */
  grants: string;
}

/** Limits of a tab's unread events. */
const ringLimits = { maxEntries: 1_000, maxBytes: 8_388_608 };
/** Interval of marking open streams as alive in the database. */
const aliveEveryMs = 10_000;
/** Time for a tab to reconnect after a reload or a broken connection. */
const graceMs = 2_000;
/** Interval of looking for the reconnected tab. */
const gracePollMs = 200;

/** The answer to a call whose page is gone. */
const pageClosed: UiAnswerBody = {
  ok: false,
  error: { type: 'interrupted', message: 'The page was closed before it answered' },
};

/**
 * Passes calls to tabs of the console, and answers back. A call is a row of `ui_calls`: the replica with the tab's stream
 * sends it to the page, any replica stores the answer, and the replica that runs the call reads the answer.
 */
@Injectable()
export class UiBridge implements OnApplicationBootstrap, OnApplicationShutdown {
  /** The tabs whose streams are open here, by session. */
  private readonly tabs = new Map<string, HeldTab>();
  /** Receivers of the answers to calls that this replica runs, by the call's id. */
  private readonly waiting = new Map<string, (answer: UiAnswerBody) => void>();
  /** When open streams were last marked as alive. */
  private markedAliveAt = 0;
  /** Callers with an open page at any replica. */
  private callersWithPage: ReadonlySet<string> = new Set();
  /** Opens a tab's streams one after another, so that the last one wins both here and in the table. */
  private readonly openings = new KeyedMutex();

  constructor(
    private readonly repository: UiSessionsRepository,
    private readonly follower: TableFollower,
    topics: StreamTopics,
  ) {
    topics.add('ui', {
      scope: 'tools:call',
      ofPage: true,
      // A new stream begins with all open calls; the page knows which of them it has begun.
      earlier: Infinity,
      eventName: ({ type }: Placed<UiEvent>) => type,
      ring: (session = '', caller) => this.openings.run(session, () => this.openStream(session, caller)),
      left: (ring) => void this.closeStreams((tab) => tab.ring === ring).catch(() => undefined),
    });
  }

  /** Whether calls of the caller may reach a page, because it names or has one. */
  hasPage({ principal, uiSession }: Lister): boolean {
    return uiSession !== undefined || this.callersWithPage.has(callerIdOf(principal));
  }

  /** Checks that a page can answer a call. @param advice if it does not offer the tool @throws Refusal `ui_…` */
  async admit(
    tool: string,
    advice: string,
    { context: { uiSession }, principal }: Pick<ToolRun, 'context' | 'principal'>,
  ): Promise<void> {
    if (uiSession === undefined) throw notConnected('The call names no page: it lacks context.uiSession');
    const caller = callerIdOf(principal);
    const session = await this.findSession(uiSession, caller);
    if (!session) throw notConnected('The page is closed');
    if (session.caller !== caller && session.grant !== 'granted') {
      await this.repository.askForGrant(uiSession, caller, nameOf(principal));
      const why =
        session.grant === 'refused'
          ? 'The user does not let this key act on the page'
          : 'The page asks its user to let this key act on it: call again once they have agreed';
      throw new Refusal('ui_not_granted', why);
    }
    if (!session.connected) throw notConnected('The page has lost its connection');
    if (!session.page.offers.includes(tool))
      throw new Refusal(
        'ui_not_available',
        `The page ${session.page.route} does not answer ${tool}: ${advice}`,
      );
  }

  /** Sends a call and waits for the answer. @throws ToolFailure of the page, or `interrupted` if it is closed */
  async call(tool: string, input: unknown, run: BuiltinRun): Promise<unknown> {
    const { executionId: id, principal, context, deadline, signal } = run;
    const answer = Promise.withResolvers<UiAnswerBody>();
    const caller = { caller: callerIdOf(principal), callerName: nameOf(principal) };
    // `admit` has checked that the call names a page.
    const session = context.uiSession ?? '';
    const call = { id, session, ...caller, tool, input, remainingMs: deadline.remainingMs() };
    this.waiting.set(id, answer.resolve);
    try {
      if (!(await this.repository.addCall(call))) answer.resolve(pageClosed);
      return resultOf(await abortable(answer.promise, signal));
    } finally {
      this.waiting.delete(id);
      if (signal.aborted) void this.repository.endCall(id).catch(() => undefined);
    }
  }

  onApplicationBootstrap(): void {
    const followed = { table: 'ui_bridge', what: 'the calls of pages', everyMs: 1_000 };
    this.follower.follow(followed, async () => {
      await Promise.all([this.deliver(), this.readAnswers()]);
    });
    this.follower.follow({ table: 'ui_bridge', what: 'the callers with a page' }, async () => {
      this.callersWithPage = new Set((await this.repository.callersWithPage()).map(({ caller }) => caller));
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.closeStreams(() => true).catch(() => undefined);
  }

  /** Finds a session. If it has just lost its stream, waits until it has reconnected or `graceMs` are over. */
  private async findSession(session: string, caller: string): Promise<UiSession | undefined> {
    for (;;) {
      const found = await this.repository.find(session, caller);
      if (!found || found.connected || found.idleMs > graceMs) return found;
      await new Promise((resolve) => setTimeout(resolve, gracePollMs));
    }
  }

  /** Opens a tab's stream and ends its older one. @throws Problem `not_found` */
  private async openStream(session: string, caller: string): Promise<EventRing<UiEvent>> {
    const stream = randomBytes(16).toString('hex');
    if (!(await this.repository.openStream(session, caller, stream)))
      throw new Problem('not_found', `There is no UI session ${session}`);
    this.tabs.get(session)?.ring.close();
    const ring = new EventRing<UiEvent>(ringLimits, stream);
    const openedAt = performance.now();
    this.tabs.set(session, { session, stream, ring, sent: new Set(), openedAt, grants: '{}' });
    return ring;
  }

  /** Forgets the tabs for which `isClosed` holds, and records that their streams are closed. */
  private async closeStreams(isClosed: (tab: HeldTab) => boolean): Promise<void> {
    const closed = [...this.tabs.values()].filter(isClosed);
    for (const { session } of closed) this.tabs.delete(session);
    await Promise.all(closed.map(({ stream }) => this.repository.closeStream(stream)));
  }

  /** Passes stored answers to the calls that wait for them. */
  private async readAnswers(): Promise<void> {
    if (this.waiting.size === 0) return;
    for (const { id, answer } of await this.repository.answers([...this.waiting.keys()]))
      this.waiting.get(id)?.(answer ?? pageClosed);
  }

  /** Sends new calls, cancellations and grants to the tabs. */
  private async deliver(): Promise<void> {
    if (this.tabs.size === 0) return;
    await this.markAlive();
    const tabs = [...this.tabs.values()];
    const sent = tabs.flatMap((tab) => [...tab.sent]);
    const news = await this.repository.news([...this.tabs.keys()], sent);
    const rows = new Map(news.sessions.map((row) => [row.id, row]));
    for (const tab of tabs) {
      const row = rows.get(tab.session);
      // The tab has another stream by now, here or at another replica.
      if (row?.stream_id !== tab.stream) this.endReplaced(tab);
      else sendGrants(tab, row.grants);
    }
    for (const call of news.calls) this.sendCall(call);
  }

  /** Records that the open streams are alive, every `aliveEveryMs`. */
  private async markAlive(): Promise<void> {
    const now = performance.now();
    if (now - this.markedAliveAt < aliveEveryMs) return;
    this.markedAliveAt = now;
    // The connection never began if another topic of the same request was refused.
    const hasNoReader = ({ ring, openedAt }: HeldTab): boolean =>
      !ring.news.hasListeners && now - openedAt > aliveEveryMs;
    await this.closeStreams(hasNoReader);
    await this.repository.touchStreams([...this.tabs.values()].map(({ stream }) => stream));
  }

  /** Sends an open call to its tab once, or the cancellation of a sent call that ended before the page answered. */
  private sendCall(call: UiCallRow): void {
    const tab = this.tabs.get(call.session_id);
    if (!tab) return;
    const { id: callId, state, tool, input, deadline, caller, caller_name: name } = call;
    const wasSent = tab.sent.has(callId);
    if (state === 'open') {
      if (wasSent) return;
      tab.sent.add(callId);
      const by = name === null ? null : { id: caller, name };
      tab.ring.append({ type: 'ui.call', callId, tool, input, deadline, by });
    } else {
      tab.sent.delete(callId);
      if (wasSent && state === 'ended') tab.ring.append({ type: 'ui.cancel', callId });
    }
  }

  /** Ends the stream of a tab that has a newer one. */
  private endReplaced(tab: HeldTab): void {
    if (this.tabs.get(tab.session) === tab) this.tabs.delete(tab.session);
    tab.ring.close();
  }
}

/** Sends the grants of a page to its tab, if they have changed. */
function sendGrants(tab: HeldTab, grants: Readonly<Record<string, UiGrant>>): void {
  const json = JSON.stringify(grants);
  if (json === tab.grants) return;
  tab.grants = json;
  tab.ring.append({
    type: 'ui.grants',
    grants: Object.entries(grants).map(([id, grant]) => ({ id, ...grant })),
  });
}

/** The result in a page's answer. @throws ToolFailure if the page reports an error */
function resultOf(answer: UiAnswerBody): unknown {
  if (answer.ok) return answer.result ?? null;
  const { type, message } = answer.error ?? { type: 'tool_error' as const, message: 'The page failed' };
  throw new ToolFailure(type, message);
}

/** The name by which the page's user is asked about a caller. */
const nameOf = ({ userId, keyId }: Principal): string =>
  keyId === undefined ? 'a caller without a key' : userId;

/** The refusal of a call that reaches no page. */
const notConnected = (why: string): Refusal =>
  new Refusal('ui_not_connected', `${why}. Give the user a link to /console/ and ask them to open it.`);
