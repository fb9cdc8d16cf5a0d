import { createParamDecorator, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { CallRates, holderOf } from '../../web/auth/call-rates.js';
import { type Principal, principalOf, projectOf } from '../../web/auth/principal.decorator.js';
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
import { type Chat, type ChatChange, ChatsRepository, maxChats, type Owned } from './chats.repository.js';
import { ChatModel } from './model.js';
import { maxCalls, maxSteps } from './turn-run.js';
import { Turns } from './turns.js';

/** Max characters of a title made from a message. */
const maxTitle = 80;
/** Max characters of a page as JSON. */
const maxPage = 16_000;
const retryable: readonly string[] = ['failed', 'stopped', 'interrupted'];

/** The caller of a route, who owns the chats. */
export interface Asking extends Owned {
  readonly principal: Principal;
  readonly address: string;
  readonly reply: FastifyReply;
}

/** Injects the caller, who owns its chats. @throws Problem `unauthorized` without a key if keys are required */
export const Asked = createParamDecorator((_: unknown, context: ExecutionContext): Asking => {
  const http = context.switchToHttp();
  const request = http.getRequest<FastifyRequest>();
  const principal = principalOf(request);
  const { keyId, keyless, userId } = principal;
  if (keyless) throw new Problem('unauthorized', 'The assistant needs a key: sign in, or send one');
  const owner = keyId ?? `user:${userId}`;
  return { owner, project: projectOf(request), principal, address: request.ip, reply: http.getResponse() };
});

/** Chats of the caller. Each method throws Problem `not_found` for other chats. */
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

  async create(asking: Asking): Promise<dto.ChatView> {
    await this.rates.count(asking);
    const id = newId();
    if (!(await this.repository.create(id, asking)))
      throw new Problem('conflict', `You have ${maxChats} chats, the most that a key may have: delete some`);
    return this.get(id, asking);
  }

  async list({ limit }: dto.ListChatsQuery, asking: Asking): Promise<dto.ChatPageView> {
    const data = await this.repository.list(asking, limit);
    return { data: data.map(listView), nextCursor: null, model: this.model.name ?? null };
  }

  async get(id: string, asking: Asking): Promise<dto.ChatView> {
    const chat = await this.load(id, asking);
    const { maxTokens: tokens, maxCost: cost } = this.config.assistant;
    return {
      ...listView(chat),
      investigationId: investigationOf(id),
      limits: { stepsPerTurn: maxSteps, callsPerTurn: maxCalls, tokens, cost },
      messages: await this.repository.messages(id),
    };
  }

  async delete(id: string, asking: Asking): Promise<void> {
    if (!(await this.repository.delete(asking, id))) throw absent(id);
    this.turns.stop(id);
  }

  /** Begins a turn with a message, and denies waiting calls. @throws Problem `conflict` while a turn runs */
  async turn(id: string, body: dto.TurnBody, asking: Asking): Promise<Readable> {
    const { message, uiSession, page, insteadOf } = body;
    if (page && JSON.stringify(page).length > maxPage)
      throw wrong('/page', `must have at most ${maxPage} characters as JSON`);
    await this.rates.count(asking);
    return this.begin(id, asking, (chat, messages) => {
      const calls = lastCalls(messages);
      const first = calls.findIndex(awaitsApproval);
      // Calls after the first one that waits for approval were not run, either.
      for (const part of calls.filter((each, at) => first >= 0 && at > first && mayRun(each)))
        part.state = 'output-denied';
      decide(messages, () => false);
      if (insteadOf !== undefined) rewind(messages, insteadOf);
      const turns = chat.turns + 1;
      const about = { turn: turns, createdAt: new Date().toISOString() };
      const text = { type: 'text' as const, text: message, state: 'done' as const };
      messages.push(
        { id: newId(), role: 'user', parts: [text], metadata: { ...about, ...(page && { page }) } },
        { id: newId(), role: 'assistant', parts: [], metadata: about },
      );
      const title = chat.title || message.trim().slice(0, maxTitle);
      return { turns, title, ui_session: uiSession ?? null };
    });
  }

  /** Resumes a turn that failed or was stopped. @throws Problem `conflict` otherwise */
  retry(id: string, asking: Asking): Promise<Readable> {
    return this.begin(id, asking, ({ state }) => {
      if (retryable.includes(state)) return {};
      throw new Problem('conflict', `The last turn is ${state}: one that failed or was ended can be retried`);
    });
  }

  /** Approves or denies a call. @throws Problem `not_found` if it does not wait, `conflict` for another approval */
  approve({ id, callId }: dto.ApprovalParams, body: dto.ApprovalBody, asking: Asking): Promise<Readable> {
    return this.begin(id, asking, (_, messages) => {
      const call = lastCalls(messages).find((part) => part.toolCallId === callId && awaitsApproval(part));
      if (!call) throw new Problem('not_found', `No call ${callId} of this chat waits for an approval`);
      if ((body.approvalId ?? call.approval?.id) !== call.approval?.id)
        throw new Problem('conflict', `The call ${callId} is not the one that was shown`);
      decide(messages, (part) => (part === call ? body.approve : undefined));
      return {};
    });
  }

  /** Stops the running turn. @throws Problem `conflict` if none runs */
  async stop(id: string, asking: Asking): Promise<dto.ChatView> {
    const stopped = await this.repository.stop(asking, id);
    if (stopped) this.turns.stop(id);
    const chat = await this.get(id, asking);
    if (!stopped) throw new Problem('conflict', 'No turn of this chat runs');
    return chat;
  }

  /** The stream of the running turn; undefined, with status 204, if none runs. */
  async stream(id: string, asking: Asking): Promise<Readable | undefined> {
    const chat = await this.load(id, asking);
    if (chat.state === 'running') return this.openStream(asking, async () => chat);
    void asking.reply.status(204);
    return undefined;
  }

  /** Runs the last turn, unless its calls still need an approval, and streams it. */
  private async begin(
    id: string,
    asking: Asking,
    prepare: (chat: Chat, messages: ChatMessage[]) => ChatChange,
  ): Promise<Readable> {
    if (this.model.name === undefined && (await this.load(id, asking))) throw new Problem('conflict', noLlm);
    return this.openStream(asking, () =>
      this.turns.begin(asking, async () => {
        const runId = newId();
        const changed = await this.repository.change(asking, id, (chat, messages) => {
          refuseRunning(chat);
          const set = prepare(chat, messages);
          const next = lastCalls(messages).find((part) => awaitsApproval(part) || mayRun(part));
          if (next && awaitsApproval(next)) return { ...set, state: 'waiting' };
          return { ...set, state: 'running', run_id: runId };
        });
        if (!changed) throw absent(id);
        return { ...changed, runId };
      }),
    );
  }

  /** Streams a turn. The stream is counted first, so that no turn begins without one. */
  private async openStream(asking: Asking, begin: () => Promise<Chat>): Promise<Readable> {
    const release = this.streams.take('streams of turns', holderOf(asking));
    try {
      const stream = Readable.from(this.turns.follow(await begin()), { objectMode: false });
      void asking.reply.headers({ ...sseHeaders, 'x-vercel-ai-ui-message-stream': 'v1' });
      return stream.once('close', release);
    } catch (error) {
      release();
      throw error;
    }
  }

  private async load(id: string, asking: Asking): Promise<Chat> {
    const chat = await this.repository.find(asking, id);
    if (!chat) throw absent(id);
    return chat;
  }
}

function refuseRunning({ state }: Chat): void {
  if (state !== 'running') return;
  throw new Problem('conflict', 'A turn of this chat runs (turn_running): wait for its end, or stop it');
}

const lastCalls = (messages: readonly ChatMessage[]): CallPart[] => callsIn(messages.at(-1) ?? { parts: [] });

/** Decides the calls that wait for an approval. @param decision undefined if the call still waits */
function decide(messages: readonly ChatMessage[], decision: (part: CallPart) => boolean | undefined): void {
  for (const part of lastCalls(messages).filter(awaitsApproval)) {
    const approved = decision(part);
    if (approved === undefined || !part.approval) continue;
    part.approval = { ...part.approval, approved };
    part.state = approved ? 'approval-responded' : 'output-denied';
  }
}

/** Removes a user's message and all later ones. @throws Problem `invalid_request` */
function rewind(messages: ChatMessage[], before: string): void {
  const place = messages.findIndex(({ id, role }) => id === before && role === 'user');
  if (place < 0) throw wrong('/insteadOf', 'must be a message of yours in this chat');
  messages.length = place;
}

const listView = ({ id, title, state, error, usage, createdAt, updatedAt }: Chat): dto.ListedChatView => ({
  ...{ id, title, state, error, usage, createdAt, updatedAt },
});

const absent = (id: string): Problem => new Problem('not_found', `There is no chat ${id}`);
