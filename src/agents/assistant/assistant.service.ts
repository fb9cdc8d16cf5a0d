import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { CallRates, holderOf } from '../../web/auth/call-rates.js';
import type { Principal } from '../../web/contract/principal.js';
import { Problem } from '../../base/common/errors.js';
import { newId } from '../../base/common/ids.js';
import { APP_CONFIG, type AppConfig } from '../../base/config/app-config.js';
import { noLlm } from '../llm/llm.module.js';
import { wrong } from '../../web/rest/wrong-field.js';
import { OpenStreams } from '../../base/streams/open-streams.js';
import { sseHeaders } from '../../base/streams/sse.js';
import type * as dto from './assistant.dto.js';
import { awaitsApproval, type CallPart, callsIn, type ChatMessage, mayRun } from './chat-message.js';
import { investigationOf } from './chat-tools.js';
import { type Chat, type ChatChange, ChatsRepository, maxChats, type ChatOwner } from './chats.repository.js';
import { ChatModel } from './model.js';
import { maxCalls, maxSteps } from './turn-run.js';
import { Turns } from './turns.js';

/** Max characters of a title made from a message. */
const maxTitleLength = 80;
/** Max characters of the console page in a message, as JSON. */
const maxPageLength = 16_000;
/** States of a chat whose last turn can be retried. */
const retryableStates: readonly string[] = ['failed', 'stopped', 'interrupted'];

const turnRunning = 'A turn of this chat runs (turn_running): wait for its end, or stop it';

/** The caller of a route, who owns the chats. */
export interface ChatCaller extends ChatOwner {
  readonly principal: Principal;
  readonly address: string;
  readonly reply: FastifyReply;
}

/** Chats of the caller. Each method throws Problem `not_found` for chats of others. */
@Injectable()
export class AssistantService {
  constructor(
    private readonly repository: ChatsRepository,
    private readonly turns: Turns,
    private readonly model: ChatModel,
    private readonly rates: CallRates,
    private readonly streams: OpenStreams,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'assistant'>,
  ) {}

  /** Creates a chat. @throws Problem `conflict` if the caller has `maxChats` */
  async create(caller: ChatCaller): Promise<dto.ChatView> {
    await this.rates.count(caller);
    const id = newId();
    if (!(await this.repository.create(id, caller)))
      throw new Problem('conflict', `You have ${maxChats} chats, the most that a key may have: delete some`);
    return this.get(id, caller);
  }

  /** The caller's chats, last used first. */
  async list({ limit }: dto.ListChatsQuery, caller: ChatCaller): Promise<dto.ChatPageView> {
    const data = await this.repository.list(caller, limit);
    return { data: data.map(listView), nextCursor: null, model: this.model.name ?? null };
  }

  async get(id: string, caller: ChatCaller): Promise<dto.ChatView> {
    const chat = await this.load(id, caller);
    const { maxTokens: tokens, maxCost: cost } = this.config.assistant;
    return {
      ...listView(chat),
      investigationId: investigationOf(id),
      limits: { stepsPerTurn: maxSteps, callsPerTurn: maxCalls, tokens, cost },
      messages: await this.repository.messages(id),
    };
  }

  /** Deletes a chat and ends its running turn. */
  async delete(id: string, caller: ChatCaller): Promise<void> {
    if (!(await this.repository.delete(caller, id))) throw chatNotFound(id);
    this.turns.stop(id);
  }

  /** Begins a turn with a message, and denies waiting calls. @throws Problem `conflict` while a turn runs */
  async createTurn(id: string, body: dto.TurnBody, caller: ChatCaller): Promise<Readable> {
    const { message, uiSession, page, insteadOf } = body;
    if (page && JSON.stringify(page).length > maxPageLength)
      throw wrong('/page', `must have at most ${maxPageLength} characters as JSON`);
    await this.rates.count(caller);
    return this.beginTurn(id, caller, (chat, messages) => {
      denyWaiting(messages);
      if (insteadOf !== undefined) rewindTo(messages, insteadOf);
      const turns = chat.turns + 1;
      const metadata = { turn: turns, createdAt: new Date().toISOString() };
      const text = { type: 'text' as const, text: message, state: 'done' as const };
      messages.push(
        { id: newId(), role: 'user', parts: [text], metadata: { ...metadata, ...(page && { page }) } },
        { id: newId(), role: 'assistant', parts: [], metadata },
      );
      const title = chat.title || message.trim().slice(0, maxTitleLength);
      return { turns, title, ui_session: uiSession ?? null };
    });
  }

  /** Resumes a turn that failed or was stopped. @throws Problem `conflict` otherwise */
  retry(id: string, caller: ChatCaller): Promise<Readable> {
    return this.beginTurn(id, caller, ({ state }) => {
      if (retryableStates.includes(state)) return {};
      throw new Problem('conflict', `The last turn is ${state}: one that failed or was ended can be retried`);
    });
  }

  /** Approves or denies a call. @throws Problem `not_found` if it does not wait, `conflict` for another approval */
  approve({ id, callId }: dto.ApprovalParams, body: dto.ApprovalBody, caller: ChatCaller): Promise<Readable> {
    return this.beginTurn(id, caller, (_chat, messages) => {
      const call = lastCalls(messages).find((part) => part.toolCallId === callId && awaitsApproval(part));
      if (!call) throw new Problem('not_found', `No call ${callId} of this chat waits for an approval`);
      if ((body.approvalId ?? call.approval?.id) !== call.approval?.id)
        throw new Problem('conflict', `The call ${callId} is not the one that was shown`);
      decide(call, body.approve);
      return {};
    });
  }

  /** Stops the running turn. @throws Problem `conflict` if none runs */
  async stop(id: string, caller: ChatCaller): Promise<dto.ChatView> {
    const stopped = await this.repository.stop(caller, id);
    if (stopped) this.turns.stop(id);
    const chat = await this.get(id, caller);
    if (!stopped) throw new Problem('conflict', 'No turn of this chat runs');
    return chat;
  }

  /** The stream of the running turn; undefined, with status 204, if none runs. */
  async follow(id: string, caller: ChatCaller): Promise<Readable | undefined> {
    const chat = await this.load(id, caller);
    if (chat.state === 'running') return this.openStream(caller, async () => chat);
    void caller.reply.status(204);
    return undefined;
  }

  /**
   * Changes a chat, runs its last turn unless that still needs an approval, and streams the turn.
   * @param prepare changes the messages and returns the columns to set
   */
  private async beginTurn(
    id: string,
    caller: ChatCaller,
    prepare: (chat: Chat, messages: ChatMessage[]) => ChatChange,
  ): Promise<Readable> {
    if (this.model.name === undefined) {
      // A chat of others is `not_found` first.
      await this.load(id, caller);
      throw new Problem('conflict', noLlm);
    }
    return this.openStream(caller, () =>
      this.turns.begin(caller, async () => {
        const runId = newId();
        const changed = await this.repository.change(caller, id, (chat, messages) => {
          if (chat.state === 'running') throw new Problem('conflict', turnRunning);
          const columns = prepare(chat, messages);
          const next = lastCalls(messages).find((part) => awaitsApproval(part) || mayRun(part));
          if (next && awaitsApproval(next)) return { ...columns, state: 'waiting' };
          return { ...columns, state: 'running', run_id: runId };
        });
        if (!changed) throw chatNotFound(id);
        return { ...changed, runId };
      }),
    );
  }

  /** Streams a turn. The stream is counted first, so that no turn begins without one. @param begin returns the turn's chat */
  private async openStream(caller: ChatCaller, begin: () => Promise<Chat>): Promise<Readable> {
    const release = this.streams.take('streams of turns', holderOf(caller));
    try {
      const stream = Readable.from(this.turns.follow(await begin()), { objectMode: false });
      void caller.reply.headers({ ...sseHeaders, 'x-vercel-ai-ui-message-stream': 'v1' });
      return stream.once('close', release);
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Finds a chat. @throws Problem `not_found` */
  private async load(id: string, caller: ChatCaller): Promise<Chat> {
    const chat = await this.repository.find(caller, id);
    if (!chat) throw chatNotFound(id);
    return chat;
  }
}

const lastCalls = (messages: readonly ChatMessage[]): CallPart[] => callsIn(messages.at(-1) ?? { parts: [] });

/** Denies the first call that waits for an approval and all behind it, which have not run either. */
function denyWaiting(messages: readonly ChatMessage[]): void {
  const calls = lastCalls(messages);
  const firstWaiting = calls.findIndex(awaitsApproval);
  if (firstWaiting < 0) return;
  for (const call of calls.slice(firstWaiting))
    if (awaitsApproval(call)) decide(call, false);
    else if (mayRun(call)) call.state = 'output-denied';
}

/** Approves or denies a call that waits for an approval. */
function decide(call: CallPart, approved: boolean): void {
  if (!call.approval) return;
  call.approval = { ...call.approval, approved };
  call.state = approved ? 'approval-responded' : 'output-denied';
}

/** Removes a user's message and all later ones. @throws Problem `invalid_request` */
function rewindTo(messages: ChatMessage[], messageId: string): void {
  const index = messages.findIndex(({ id, role }) => id === messageId && role === 'user');
  if (index < 0) throw wrong('/insteadOf', 'must be a message of yours in this chat');
  messages.length = index;
}

function listView(chat: Chat): dto.ListedChatView {
  const { id, title, state, error, usage, createdAt, updatedAt } = chat;
  return { id, title, state, error, usage, createdAt, updatedAt };
}

const chatNotFound = (id: string): Problem => new Problem('not_found', `There is no chat ${id}`);
