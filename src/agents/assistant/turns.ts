import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { CallerSlots } from '../../base/common/caller-slots.js';
import { dayMs } from '../../base/common/clock.js';
import { Problem } from '../../base/common/errors.js';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import { Lifecycle } from '../../base/common/lifecycle.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { holderOf } from '../../web/auth/call-rates.js';
import { KnownKeys } from '../../web/auth/known-keys.js';
import { sseHeartbeat } from '../../base/streams/sse.js';
import type { Principal } from '../../web/contract/principal.js';
import type { CallRequest } from '../../web/contract/tool-call.js';
import { type ChatMessage, type Chunk, MessageReader, stepEnd } from './chat-message.js';
import { ChatTools } from './chat-tools.js';
import { type Chat, ChatsRepository, type ChatOwner, type RunEnd } from './chats.repository.js';
import { ChatModel, NoAnswer } from './model.js';
import { type BegunTurn, TurnRun } from './turn-run.js';

/** Max turns at this server, because each holds a connection to the model. */
const maxTurns = 20;
/** Max turns of one caller at this server. */
const maxOfCaller = 4;
/** Poll interval for a turn that runs at another server. */
const pollMs = 500;
/** Min pause between two events to one reader. */
const paceMs = 25;

/** A turn as a reader sees it: `end` is absent while it runs. */
type TurnView = Pick<TurnRun, 'message' | 'usage' | 'end'>;

/** Runs turns at this server, and streams the turns of any server. */
@Injectable()
export class Turns implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(Turns.name);
  /** Running turns by chat. `finished` settles when the end of the run is stored. */
  private readonly runs = new Map<string, { run: TurnRun; finished: Promise<void> }>();
  private readonly slots = new CallerSlots(maxOfCaller, maxTurns);
  private readonly cleaner: IntervalLoop;

  constructor(
    private readonly repository: ChatsRepository,
    private readonly model: ChatModel,
    private readonly tools: ChatTools,
    private readonly keys: KnownKeys,
    private readonly lifecycle: Lifecycle,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'assistant' | 'server'>,
  ) {
    lifecycle.drainSignal.addEventListener('abort', () => this.interruptAll(), { once: true });
    const { retentionDays } = config.assistant;
    const deleteOldChats = () => repository.deleteOlder(new Date(Date.now() - retentionDays * dayMs));
    this.cleaner = new IntervalLoop(deleteOldChats, dayMs, (error) =>
      this.logger.warn(error, 'old chats stay'),
    );
  }

  onApplicationBootstrap(): void {
    this.cleaner.start(0);
  }

  async onApplicationShutdown(): Promise<void> {
    this.interruptAll();
    await Promise.all([this.cleaner.stop(), ...[...this.runs.values()].map(({ finished }) => finished)]);
  }

  /**
   * Starts the turn that `prepare` returns, unless the turn waits for a person. The caller's slot is taken before anything
   * is awaited, so that concurrent requests cannot exceed the limit.
   * @throws Problem `rate_limited`, `shutting_down`; errors of `prepare`
   */
  async begin(
    caller: Pick<CallRequest, 'principal' | 'address'>,
    prepare: () => Promise<Omit<BegunTurn, 'principal'>>,
  ): Promise<Chat> {
    if (this.lifecycle.state === 'draining') throw new Problem('shutting_down', 'The server is stopping');
    const release = this.slots.claim(holderOf(caller), 'turns');
    let finished: Promise<void> | undefined;
    try {
      const turn = await prepare();
      if (turn.chat.state === 'running') finished = this.start(turn, caller.principal);
      return turn.chat;
    } finally {
      // After the turn, or at once if none was started.
      void Promise.resolve(finished).then(release);
    }
  }

  /** Starts a run. @returns a promise that settles with its end */
  private start(prepared: Omit<BegunTurn, 'principal'>, caller: Principal): Promise<void> {
    const { chat } = prepared;
    const turn = { ...prepared, principal: () => this.withPresentRights(caller) };
    const { assistant: limits } = this.config;
    const run = new TurnRun(turn, this.model, this.tools, this.repository, limits);
    const finished = run.run().finally(() => {
      // A later run of the chat may have begun.
      if (this.runs.get(chat.id)?.run === run) this.runs.delete(chat.id);
    });
    this.runs.set(chat.id, { run, finished });
    return finished;
  }

  /** Ends a run at this server. A run at another server ends with its next write. */
  stop(chatId: string): void {
    this.runs.get(chatId)?.run.abort({ state: 'stopped', error: null });
  }

  /** Streams a chat's turn from its beginning, as server-sent events, until it ends or waits. */
  async *follow(chat: Pick<Chat, 'id'> & ChatOwner): AsyncGenerator<string> {
    const run = this.runs.get(chat.id)?.run;
    const reader = new MessageReader();
    let reportedUsage = '';
    for (let isFirst = true; ; isFirst = false) {
      // Subscribed before the state is read, so that no change is missed.
      const changed = run ? nextChange(run, this.config.server.sseHeartbeatMs) : undefined;
      const turn = run ?? (await this.readStored(chat));
      if (!turn || (this.lifecycle.state === 'draining' && !turn.end)) return;
      const { message, usage, end } = turn;
      const chunks = [...(isFirst ? [startOf(message)] : []), ...reader.newChunks(message)];
      const usageJson = JSON.stringify(usage);
      if (usageJson !== reportedUsage) chunks.push({ type: 'message-metadata', messageMetadata: { usage } });
      reportedUsage = usageJson;
      if (end) chunks.push(...endOf(end));
      const events = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
      yield `${events.join('') || sseHeartbeat}${end ? 'data: [DONE]\n\n' : ''}`;
      if (end) return;
      await Promise.all([changed, delay(changed ? paceMs : pollMs)]);
    }
  }

  /** The last turn as the database has it, for a turn at another server. */
  private async readStored(chat: Pick<Chat, 'id'> & ChatOwner): Promise<TurnView | undefined> {
    const stored = await this.repository.find(chat, chat.id);
    const [message] = await this.repository.messages(chat.id, 1);
    if (!stored || !message) return undefined;
    return { message, usage: stored.usage, end: stored.state === 'running' ? undefined : stored };
  }

  /** The caller with its present rights: its key may lose some, or be revoked, while a turn runs. */
  private withPresentRights(caller: Principal): Principal {
    // Callers without a stored key: without any key, or with an access token.
    if (caller.keyId === undefined || caller.token) return caller;
    const present = this.keys.withId(caller.keyId);
    if (!present) throw new NoAnswer('The key of this turn has expired or was revoked');
    return present;
  }

  /** Ends all runs at this server, because it stops. */
  private interruptAll(): void {
    for (const { run } of this.runs.values())
      run.abort({ state: 'interrupted', error: 'The server stopped before the turn was over' });
  }
}

/** Resolves with the next change of a run, or after `heartbeatMs`. */
function nextChange(run: TurnRun, heartbeatMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      unsubscribe();
      clearTimeout(timer);
      resolve();
    };
    const unsubscribe = run.changes.subscribe(done);
    const timer = setTimeout(done, heartbeatMs).unref();
  });
}

/** The first chunk of a turn. */
const startOf = ({ id, metadata }: ChatMessage): Chunk => ({
  type: 'start',
  messageId: id,
  messageMetadata: metadata,
});

/** The last chunks of a turn. */
function endOf({ state, error }: RunEnd): Chunk[] {
  const finish = { type: 'finish', messageMetadata: { state } };
  if (state === 'stopped') return [{ type: 'abort', reason: 'stopped' }, finish];
  if (error !== null) return [{ type: 'error', errorText: error }, finish];
  return [stepEnd, finish];
}
