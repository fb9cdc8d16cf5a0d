import { answerUiCall, ApiError, ask, createUiSession, reportUiPage } from '../lib/api.js';
import type { StreamEvent } from '../lib/event-stream.js';
import { readExactly } from '../lib/exact-json.js';
import { pauseOf } from '../lib/server-stream.js';
import { PageTools, type UiAnswer } from './page-tools.js';
import type { Json } from './ui-events.js';

/** Another key that asks for access to the page or has it. */
export interface Guest {
  readonly id: string;
  readonly name: string;
  readonly status: 'asked' | 'granted' | 'refused';
  readonly until: string;
}

/** A call as the server sends it. */
interface UiCall {
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  /** Null: this caller's own. */
  readonly by: Pick<Guest, 'id' | 'name'> | null;
}

export interface UiAct extends UiCall {
  readonly at: string;
  /** The address of the page before it. */
  readonly from: string;
}

export interface PageView {
  readonly route: string;
  readonly context: Record<string, unknown>;
}

interface LinkState {
  readonly session: string | undefined;
  readonly guests: readonly Guest[];
  readonly acts: readonly UiAct[];
}

const reportAfterMs = 100;
const maxActs = 50;
const maxTries = 4;
const retryMs = { first: 500, longest: 30_000 };

const interrupted: UiAnswer = {
  ok: false,
  error: { type: 'interrupted', message: 'The page was reloaded before it answered' },
};

/** The tab's connection to the server: reports the page, runs incoming calls and answers each once. */
export class PageLink {
  readonly tools = new PageTools(() => this.changed());
  private readonly store = new TabStore();
  private readonly listeners = new Set<() => void>();
  private state: LinkState = { session: undefined, guests: [], acts: [] };
  private readonly running = new Set<string>();
  /** Answers that the server has not received yet. */
  private readonly unsent = new Map<string, UiAnswer>();
  private reported: Promise<void> = Promise.resolve();
  /** The page as it was reported last, as JSON. */
  private known = '';
  private timer: ReturnType<typeof setTimeout> | undefined;
  private life = new AbortController();
  private caller = '';
  private renewals = 0;

  /** @param view what the page shows now */
  constructor(private readonly view: () => PageView) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly read = (): LinkState => this.state;

  /** @returns a function that ends it */
  start(caller: string): () => void {
    this.caller = caller;
    this.life = new AbortController();
    const { signal } = this.life;
    void this.begin(signal, 0);
    return () => {
      this.life.abort();
      clearTimeout(this.timer);
      this.change({ session: undefined, guests: [], acts: [] });
    };
  }

  /** Called if the page or its tools have changed. */
  changed(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.report(), reportAfterMs);
  }

  /** Handles an event of the session's topic. */
  hear({ event, data }: StreamEvent): void {
    if (event === 'closed' || event === 'refused') this.renew();
    if (!event.startsWith('ui.')) return;
    this.renewals = 0;
    const message = readExactly(data) as UiCall & { readonly grants: readonly Guest[] };
    if (event === 'ui.call') void this.take(message);
    if (event === 'ui.cancel') this.running.delete(message.callId);
    if (event === 'ui.grants') this.change({ guests: message.grants });
  }

  forgetActs(): void {
    this.change({ acts: [] });
  }

  /** Each call runs once in this tab, even if the page is reloaded or the call is sent again. */
  private async take(call: UiCall): Promise<void> {
    const { callId, tool, input } = call;
    if (this.running.has(callId)) return;
    if (this.unsent.has(callId)) return this.send(callId);
    if (this.store.hasBegun(callId)) this.unsent.set(callId, interrupted);
    else {
      this.store.begin(callId);
      this.running.add(callId);
      const act = { ...call, at: new Date().toISOString(), from: this.view().route };
      this.change({ acts: [...this.state.acts, act].slice(-maxActs) });
      const answer = await this.tools.run(callId, tool, input);
      // Cancelled: nobody waits for the answer.
      if (!this.running.delete(callId)) return;
      this.unsent.set(callId, answer);
      // The server checks the agent's next call with the page as this call left it.
      await this.report();
    }
    await this.send(callId);
  }

  private async send(callId: string): Promise<void> {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const [id, body] = [this.state.session, this.unsent.get(callId)];
      if (id === undefined || body === undefined) return;
      try {
        await ask(answerUiCall({ path: { id, callId }, body }));
        this.unsent.delete(callId);
      } catch (error) {
        if (isRefusal(error)) this.unsent.delete(callId);
        else await pauseOf(retryMs.first * 2 ** tries, this.life.signal);
      }
    }
  }

  /** Reports the page if it has changed. @returns when the server knows the page as it is now */
  private report(): Promise<void> {
    clearTimeout(this.timer);
    this.reported = this.reported.then(async () => {
      const { session } = this.state;
      try {
        if (session !== undefined) await this.put(session);
      } catch (error) {
        if (isRefusal(error)) this.renew();
        else this.changed();
      }
    });
    return this.reported;
  }

  private async put(id: string): Promise<void> {
    const body = { ...this.view(), offers: this.tools.names() };
    const text = JSON.stringify(body);
    if (text === this.known) return;
    await ask(reportUiPage({ path: { id }, body }));
    this.known = text;
  }

  /** Called if another tab took the session or it ended. */
  private renew(): void {
    if (this.state.session === undefined) return;
    this.store.forget();
    this.change({ session: undefined, guests: [] });
    this.renewals += 1;
    void this.begin(this.life.signal, retryMs.first * 2 ** this.renewals);
  }

  private async begin(signal: AbortSignal, waitMs: number): Promise<void> {
    await pauseOf(waitMs, signal);
    if (signal.aborted) return;
    try {
      const session = this.store.session(this.caller) ?? (await ask(createUiSession())).id;
      this.known = '';
      await this.put(session);
      if (signal.aborted) return;
      this.store.keep(session, this.caller);
      this.change({ session });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) this.store.forget();
      else if (isRefusal(error)) return;
      return this.begin(signal, Math.min(retryMs.longest, Math.max(retryMs.first, waitMs * 2)));
    }
  }

  private change(changes: Partial<LinkState>): void {
    this.state = { ...this.state, ...changes };
    for (const listener of this.listeners) listener();
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;

const name = 'toolkeeper.ui';

interface Kept {
  readonly session: string;
  /** The caller whose session it is. */
  readonly caller: string;
  /** Calls that this tab has begun, the newest last. */
  readonly begun: readonly string[];
}

/** More calls than can be under way when the page is reloaded. */
const maxBegun = 200;

/** The tab's session and the calls that it has begun. They survive a reload, so that no call runs twice. */
class TabStore {
  /** @returns undefined if the tab has no session of this caller */
  session(caller: string): string | undefined {
    const kept = this.read();
    return kept?.caller === caller ? kept.session : undefined;
  }

  keep(session: string, caller: string): void {
    const begun = this.read()?.begun ?? [];
    this.write({ session, caller, begun });
  }

  forget(): void {
    window.sessionStorage.removeItem(name);
  }

  hasBegun(callId: string): boolean {
    return this.read()?.begun.includes(callId) ?? false;
  }

  begin(callId: string): void {
    const kept = this.read();
    if (kept) this.write({ ...kept, begun: [...kept.begun, callId].slice(-maxBegun) });
  }

  private read(): Kept | undefined {
    const text = window.sessionStorage.getItem(name);
    return text === null ? undefined : (JSON.parse(text) as Kept);
  }

  private write(kept: Kept): void {
    window.sessionStorage.setItem(name, JSON.stringify(kept));
  }
}
