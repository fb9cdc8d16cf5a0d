import { Logger } from '@nestjs/common';
import { abortable } from '../../base/common/abortable.js';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import { messageOf } from '../../base/common/message-of.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import type { AppConfig } from '../../base/config/app-config.js';
import type { Principal } from '../../web/contract/principal.js';
import type { ChatUsageView } from './assistant.dto.js';
import { awaitsApproval, type CallPart, callsIn, type ChatMessage, isCall, mayRun } from './chat-message.js';
import { type CallOrigin, type ChatTools, spentBy } from './chat-tools.js';
import type { Chat, ChatsRepository, RunEnd } from './chats.repository.js';
import { type AnswerPart, type ChatModel, NoAnswer } from './model.js';
import { DataWrapper, modelMessages, stepsIn, systemPrompt } from './prompt.js';

/** Max requests to the model in one turn. */
export const maxSteps = 20;
/** Max calls of tools in one turn. */
export const maxCalls = 60;
/** Interval of the writes of a run, which also show that it is alive. */
const writeMs = 1_000;

/** A turn to begin or to resume. Its last message is the assistant's. */
export interface BegunTurn {
  readonly runId: string;
  readonly chat: Chat;
  readonly messages: ChatMessage[];
  /** The caller with its present rights. @throws NoAnswer if its key has expired or was revoked */
  readonly principal: () => Principal;
}

type RequestedCall = Extract<AnswerPart, { kind: 'call' }>;

/**
 * One turn of a chat at this server. It alternately asks the model and runs its calls, until an answer has no calls, a
 * call needs approval, or a limit is reached. Calls are stored before they run, with ids that a resumed turn reuses.
 */
export class TurnRun {
  private readonly logger = new Logger(TurnRun.name);
  readonly changes = new TypedEvents<void>((error) => this.logger.error(error));
  readonly message: ChatMessage;
  usage: ChatUsageView;
  /** Set when the end is stored. */
  end: RunEnd | undefined;
  private ending: RunEnd | undefined;
  private readonly data = new DataWrapper();
  private readonly ended = new AbortController();

  constructor(
    private readonly turn: BegunTurn,
    private readonly model: ChatModel,
    private readonly tools: ChatTools,
    private readonly repository: ChatsRepository,
    private readonly limits: AppConfig['assistant'],
  ) {
    this.message = turn.messages.at(-1) as ChatMessage;
    this.usage = turn.chat.usage;
  }

  /** Ends the run soon. A call that has begun goes on, and its outcome is stored. */
  abort(end: RunEnd): void {
    this.ending ??= end;
    this.ended.abort(new Error('The run was ended'));
  }

  /** Runs the turn to its end. Never throws. */
  async run(): Promise<void> {
    const { chat, runId } = this.turn;
    const beat = new IntervalLoop(
      () => this.write(),
      writeMs,
      (error) => this.logger.warn(messageOf(error)),
    );
    beat.start();
    const end = await this.loop().catch((error: unknown) => this.endOf(error));
    await beat.stop();
    this.ending ??= end;
    await this.repository
      .write(chat.id, runId, this.changesFrom(0), this.ending)
      .catch((error: unknown) => this.logger.error(error, 'the end of a turn could not be written'));
    this.end = this.ending;
    this.changes.emit();
  }

  private async loop(): Promise<RunEnd> {
    this.dropBrokenStep();
    await this.write(0);
    for (;;) {
      await this.runCalls();
      const step = stepsIn(this.message).at(-1);
      const calls = step?.filter(isCall) ?? [];
      if (calls.some(awaitsApproval)) return { state: 'waiting', error: null };
      if (step && calls.length === 0) return { state: 'idle', error: null };
      const limit = this.limitReached();
      if (limit !== undefined) return { state: 'failed', error: limit };
      await this.ask();
    }
  }

  /** Removes an answer that was cut off before its calls, so that the model is asked again. */
  private dropBrokenStep(): void {
    const { parts } = this.message;
    const begin = parts.findLastIndex(({ type }) => type === 'step-start');
    if (begin >= 0 && !parts.slice(begin).some(isCall)) parts.splice(begin);
  }

  private async ask(): Promise<void> {
    const { messages, chat } = this.turn;
    const { parts } = this.message;
    const question = {
      instructions: systemPrompt(this.data),
      messages: modelMessages(messages, this.data),
      tools: await this.tools.offered(messages, this.origin()),
      signal: this.ended.signal,
    };
    const step = parts.push({ type: 'step-start' });
    const before = callsIn(this.message).length;
    this.count({ steps: 1 });
    const calls: RequestedCall[] = [];
    for await (const part of this.model.answer(question)) {
      if (part.kind === 'text') this.addText(part.text);
      else if (part.kind === 'call') calls.push(part);
      else this.count(part.usage);
    }
    const last = parts.at(-1);
    if (last?.type === 'text') Object.assign(last, { text: this.model.clean(last.text), state: 'done' });
    const toPart = (call: RequestedCall, at: number): Promise<CallPart> =>
      this.callPart(call, idOfCall(chat.turns, step, at), before + at);
    parts.push(...(await Promise.all(calls.map(toPart))));
    this.changes.emit();
    await this.write();
  }

  private addText(text: string): void {
    const last = this.message.parts.at(-1);
    if (last?.type === 'text') last.text += text;
    else this.message.parts.push({ type: 'text', text, state: 'streaming' });
    this.changes.emit();
  }

  /** A requested call as a part of the message. A call that cannot run gets an error, not a request for approval. */
  private async callPart(call: RequestedCall, toolCallId: string, before: number): Promise<CallPart> {
    const { tool: toolName, input, malformed } = call;
    const wrong = malformed ?? (before < maxCalls ? undefined : `a turn may make ${maxCalls} calls`);
    const part: CallPart = { type: 'dynamic-tool', toolName, toolCallId, input, state: 'input-available' };
    if (wrong !== undefined) return { ...part, state: 'output-error', errorText: `not run: ${wrong}` };
    const approval = this.tools.approvalFor(part);
    if (!approval) return part;
    const errorText = await this.tools.refusalOf(part, this.origin());
    if (errorText !== undefined) return { ...part, state: 'output-error', errorText };
    return { ...part, state: 'approval-requested', approval };
  }

  /** Runs calls in the model's order, up to one that needs approval. */
  private async runCalls(): Promise<void> {
    for (const part of callsIn(this.message)) {
      const approval = mayRun(part) ? this.tools.approvalFor(part) : undefined;
      const note = part.approval && toolChanged;
      if (approval) Object.assign(part, { state: 'approval-requested', approval: { ...approval, note } });
      if (awaitsApproval(part)) return;
      if (!mayRun(part)) continue;
      this.count({ calls: 1 });
      const changed = (): void => this.changes.emit();
      await abortable(this.tools.run(part, this.origin(), changed), this.ended.signal);
      this.count(spentBy(part));
      this.changes.emit();
      await this.write();
    }
  }

  private origin(): CallOrigin {
    const { chat, principal } = this.turn;
    const { id: chatId, project, turns: turn, uiSession } = chat;
    return { chatId, project, turn, principal: principal(), uiSession: uiSession ?? undefined };
  }

  private limitReached(): string | undefined {
    const { maxTokens, maxCost } = this.limits;
    const { inputTokens, outputTokens, cost } = this.usage;
    const tokens = inputTokens + outputTokens;
    const another = 'begin another chat';
    if (stepsIn(this.message).length >= maxSteps)
      return `A turn may take ${maxSteps} steps, and this one has: send another message to go on`;
    if (maxTokens > 0 && tokens >= maxTokens)
      return `This chat has used ${tokens} tokens of the ${maxTokens} it may (ASSISTANT_MAX_TOKENS): ${another}`;
    if (maxCost > 0 && cost !== null && cost >= maxCost)
      return `This chat has cost $${cost.toFixed(2)} of the $${maxCost} it may (ASSISTANT_MAX_COST): ${another}`;
    return undefined;
  }

  private count(more: Partial<ChatUsageView>): void {
    const sum = (name: keyof ChatUsageView): number => Math.max(0, this.usage[name] ?? 0) + (more[name] ?? 0);
    const cost = this.usage.cost === null && (more.cost ?? null) === null ? null : sum('cost');
    const [steps, calls] = [sum('steps'), sum('calls')];
    this.usage = { steps, calls, inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens'), cost };
  }

  /** @param from index of the first part to write; default: the last two steps, because earlier ones do not change */
  private changesFrom(from?: number) {
    const { message, usage } = this;
    const steps = message.parts.flatMap(({ type }, place) => (type === 'step-start' ? [place] : []));
    return { message, from: from ?? steps.at(-2) ?? 0, usage, position: this.turn.messages.length };
  }

  private async write(from?: number): Promise<void> {
    const { chat, runId } = this.turn;
    if (!(await this.repository.write(chat.id, runId, this.changesFrom(from))))
      this.abort({ state: 'stopped', error: null });
    this.ended.signal.throwIfAborted();
  }

  private endOf(error: unknown): RunEnd {
    if (this.ending) return this.ending;
    if (error instanceof NoAnswer) return { state: 'failed', error: error.message };
    this.logger.error(error, 'a turn of the assistant failed');
    return { state: 'failed', error: 'The turn failed within the server; its log has the reason' };
  }
}

const toolChanged = 'The tool has changed since you agreed: this call was not run';

/** Nine letters and digits, because some endpoints accept nothing else. The same in each run of a turn. */
const idOfCall = (turn: number, step: number, place: number): string =>
  `t${digits(turn, 3)}s${digits(step, 2)}${digits(place + 1, 2)}`;
const digits = (number: number, count: number): string => number.toString(36).padStart(count, '0');
