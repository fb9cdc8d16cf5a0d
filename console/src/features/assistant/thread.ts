import { ApiError, ask, asApiError, type ChatView, createChat, getChat, stopTurn } from '../../lib/api.js';
import { openStream } from '../../lib/calls.js';
import { type ChatState, type Chunk, type UiMessage, withChunk } from './ui-message.js';

export interface Said {
  readonly message: string;
  readonly page: object;
  readonly uiSession?: string | undefined;
  /** A message in whose place it is said. */
  readonly insteadOf?: string | undefined;
}

export interface ThreadState extends ChatState {
  readonly id: string | undefined;
  readonly chat: ChatView | undefined;
  readonly isLoading: boolean;
}

const empty: ThreadState = {
  ...{ id: undefined, chat: undefined, isLoading: false },
  ...{ messages: [], state: 'idle', error: null, usage: undefined },
};

/** Interval of drawing, so that fast words do not draw the panel too often. */
const drawMs = 60;
const reconnectMs = 1_000;
const root = '/api/v1/assistant/chats';

/** One chat and the stream of its turn, outside of React: the panel may close and come back. */
export class Thread {
  private state: ThreadState = empty;
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private left = new AbortController();
  /** Resolves when the server has begun the turn, or refused it: before that there is nothing to stop. */
  private begun = Promise.withResolvers<void>();

  constructor(initial: readonly UiMessage[] = []) {
    this.state = { ...empty, messages: initial };
    this.begun.resolve();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly read = (): ThreadState => this.state;

  /** Shows a chat; a turn that runs is followed. */
  async open(id: string | undefined): Promise<void> {
    this.leave();
    const { signal } = this.left;
    this.change({ ...empty, id, isLoading: id !== undefined });
    if (id === undefined) return;
    try {
      const chat = await ask(getChat({ path: { id }, signal }));
      if (signal.aborted) return;
      this.show(chat);
      this.begun.resolve();
      if (chat.state === 'running') await this.resume(id);
    } catch (error) {
      if (!signal.aborted) this.failed(error);
    }
  }

  /** Stops following; the turn goes on. A message is not taken back on its way to the server. */
  leave(): void {
    const { left } = this;
    this.left = new AbortController();
    void this.begun.promise.then(() => left.abort());
  }

  async say({ message, insteadOf, ...about }: Said): Promise<void> {
    this.begun = Promise.withResolvers();
    try {
      const id = this.state.id ?? (await ask(createChat())).id;
      const place = this.state.messages.findIndex(({ id: each }) => each === insteadOf);
      const before = place < 0 ? this.state.messages : this.state.messages.slice(0, place);
      const own: UiMessage = {
        id: `new-${before.length}`,
        role: 'user',
        parts: [{ type: 'text', text: message }],
      };
      this.change({ ...this.state, id, messages: [...before, own], state: 'running', error: null });
      const body = { message, ...about, ...(insteadOf !== undefined && { insteadOf }) };
      await this.follow(id, 'POST', 'turns', body);
    } catch (error) {
      this.failed(error);
    }
  }

  approve = (callId: string, approve: boolean, approvalId: string | undefined): Promise<void> =>
    this.act(`approvals/${callId}`, { approve, ...(approvalId !== undefined && { approvalId }) });

  retry = (): Promise<void> => this.act('retry');

  async stop(): Promise<void> {
    await this.begun.promise;
    const { id } = this.state;
    if (id === undefined) return;
    this.leave();
    try {
      this.show(await ask(stopTurn({ path: { id } })));
    } catch (error) {
      this.failed(error);
    }
  }

  private async act(path: string, body?: object): Promise<void> {
    const { id } = this.state;
    if (id === undefined) return;
    this.begun = Promise.withResolvers();
    this.change({ ...this.state, state: 'running', error: null });
    await this.follow(id, 'POST', path, body).catch((error: unknown) => this.failed(error));
  }

  private async follow(id: string, method: 'GET' | 'POST', path: string, body?: object): Promise<void> {
    const { signal } = this.left;
    const headers = { 'content-type': 'application/json' };
    const sent = body && { body: JSON.stringify(body), headers };
    const events = await openStream({ method, url: `${root}/${id}/${path}`, ...sent }, signal);
    this.begun.resolve();
    let isOver = false;
    try {
      for await (const { data } of events) {
        if (signal.aborted) return;
        if (data === '[DONE]') isOver = true;
        else if (data !== '') this.take(JSON.parse(data) as Chunk);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError) throw error;
    }
    // The connection broke: the server has the rest.
    if (!isOver && !signal.aborted) await this.resume(id);
    else if (!signal.aborted) await this.reload(id);
  }

  private async resume(id: string): Promise<void> {
    const { signal } = this.left;
    while (!signal.aborted) {
      try {
        const chat = await ask(getChat({ path: { id }, signal }));
        if (chat.state !== 'running') return this.show(chat);
        return await this.follow(id, 'GET', 'stream');
      } catch (error) {
        if (asApiError(error).status > 0) return this.failed(error);
        await new Promise((resolve) => setTimeout(resolve, reconnectMs));
      }
    }
  }

  /** The ids of new messages, and the title, are the server's. */
  private async reload(id: string): Promise<void> {
    const { signal } = this.left;
    const chat = await ask(getChat({ path: { id }, signal })).catch(() => undefined);
    if (chat && !signal.aborted) this.show(chat);
  }

  private show(chat: ChatView): void {
    const { id, state, error, usage } = chat;
    const messages = chat.messages as unknown as UiMessage[];
    this.change({ id, chat, messages, state, error, usage, isLoading: false });
  }

  private take(chunk: Chunk): void {
    this.state = { ...this.state, ...withChunk(this.state, chunk) };
    this.timer ??= setTimeout(() => this.change(this.state), drawMs);
  }

  private failed(error: unknown): void {
    this.begun.resolve();
    const { message } = asApiError(error);
    this.change({ ...this.state, isLoading: false, error: message, state: 'failed' });
  }

  private change(state: ThreadState): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}
