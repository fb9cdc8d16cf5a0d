import { Logger } from '@nestjs/common';
import { abortable } from '../../base/common/abortable.js';
import { IntervalLoop } from '../../base/common/interval-loop.js';
import { messageOf } from '../../base/common/message-of.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import type { AppConfig } from '../../base/config/app-config.js';
import type { Principal } from '../../web/contract/principal.js';
import type { ChatUsageView } from './assistant.dto.js';
import { awaitsApproval, type CallPart, callsIn, type ChatMessage, isCall, mayRun } from './chat-message.js';
import { type CallOrigin, type ChatTools, usageBy } from './chat-tools.js';
import type { Chat, ChatsRepository, RunEnd } from './chats.repository.js';
import { type AnswerPart, type ChatModel, NoAnswer } from './model.js';
import { DataWrapper, modelMessages, stepsIn, systemPrompt } from './prompt.js';

/** Max requests to the model in one turn. */
export const maxSteps = 20;
/** Max calls of tools in one turn. */
export const maxCalls = 60;
/** Interval of the writes of a run, which also show other replicas that the run is alive. */
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
 * One turn of a chat at this server. Alternates between asking the model and running the calls that it requests, until an
 * answer has no calls, a call needs approval, or a limit is reached. Calls are stored before they run, with ids that a
 * resumed turn reuses.
 */
export class TurnRun {
  private readonly logger = new Logger(TurnRun.name);
  /** Is emitted after each change of `message`, `usage` or `end`. */
  readonly changes = new TypedEvents<void>((error) => this.logger.error(error));
  /** The assistant's message, which grows while the turn runs. */
  readonly message: ChatMessage;
  /** Sums over all turns of the chat. */
  usage: ChatUsageView;
  /** The end of the run, set after it was stored. */
  end: RunEnd | undefined;
  /** The end that is about to be stored; the first one wins. */
  private decidedEnd: RunEnd | undefined;
  /** Wraps recorded texts for the model. */
  private readonly data = new DataWrapper();
  /** Aborts the request to the model, and the wait for a call. */
  private readonly aborting = new AbortController();

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

  /** Ends the run soon. A call that has begun goes on; a retry of the turn gets its outcome. */
  abort(end: RunEnd): void {
    this.decidedEnd ??= end;
    this.aborting.abort(new Error('The run was ended'));
  }

  /** Runs the turn to its end. Never throws. */
  async run(): Promise<void> {
    const { chat, runId } = this.turn;
    const writer = new IntervalLoop(
      () => this.write(),
      writeMs,
      (error) => this.logger.warn(messageOf(error)),
    );
    writer.start();
    const end = await this.runSteps().catch((error: unknown) => this.endOf(error));
    await writer.stop();
    this.decidedEnd ??= end;
    await this.repository
      .write(chat.id, runId, this.stateFrom(0), this.decidedEnd)
      .catch((error: unknown) => this.logger.error(error, 'the end of a turn could not be written'));
    this.end = this.decidedEnd;
    this.changes.emit();
  }

  /** Runs the calls of the last answer, then asks the model for the next one, until the turn ends or waits. */
  private async runSteps(): Promise<RunEnd> {
    this.dropBrokenStep();
    await this.write(0);
    for (;;) {
      await this.runCalls();
      const step = stepsIn(this.message).at(-1);
      const calls = step?.filter(isCall) ?? [];
      if (calls.some(awaitsApproval)) return { state: 'waiting', error: null };
      if (step && calls.length === 0) return { state: 'idle', error: null };
      const limitError = this.limitError();
      if (limitError !== undefined) return { state: 'failed', error: limitError };
      await this.askModel();
    }
  }

  /** Removes an answer that was cut off before its calls, so that the model is asked again. */
  private dropBrokenStep(): void {
    const { parts } = this.message;
    const lastStep = parts.findLastIndex(({ type }) => type === 'step-start');
    if (lastStep >= 0 && !parts.slice(lastStep).some(isCall)) parts.splice(lastStep);
  }

  /** Asks the model, and adds its answer to the message as a new step. */
  private async askModel(): Promise<void> {
    const { messages, chat } = this.turn;
    const { parts } = this.message;
    const question = {
      instructions: systemPrompt(this.data),
      messages: modelMessages(messages, this.data),
      tools: await this.tools.offered(messages, this.origin()),
      signal: this.aborting.signal,
    };
    // The number of parts so far distinguishes the steps of a message.
    const step = parts.push({ type: 'step-start' });
    const earlierCalls = callsIn(this.message).length;
    this.addUsage({ steps: 1 });
    const calls: RequestedCall[] = [];
    for await (const part of this.model.answer(question)) {
      if (part.kind === 'text') this.addText(part.text);
      else if (part.kind === 'call') calls.push(part);
      else this.addUsage(part.usage);
    }
    const last = parts.at(-1);
    // Redacted again as a whole: a secret may have been split over several parts of the answer.
    if (last?.type === 'text') Object.assign(last, { text: this.model.redact(last.text), state: 'done' });
    const toPart = (call: RequestedCall, index: number): Promise<CallPart> =>
      this.callPart(call, idOfCall(chat.turns, step, index), earlierCalls + index);
    parts.push(...(await Promise.all(calls.map(toPart))));
    this.changes.emit();
    await this.write();
  }

  /** Appends to the text at the end of the message. */
  private addText(text: string): void {
    const last = this.message.parts.at(-1);
    if (last?.type === 'text') last.text += text;
    else this.message.parts.push({ type: 'text', text, state: 'streaming' });
    this.changes.emit();
  }

  /**
   * A requested call as a part of the message. A call that cannot run gets an error, not a request for approval.
   * @param earlierCalls number of calls before it in this turn
   */
  private async callPart(call: RequestedCall, toolCallId: string, earlierCalls: number): Promise<CallPart> {
    const { tool: toolName, input, malformed } = call;
    const mistake = malformed ?? (earlierCalls < maxCalls ? undefined : `a turn may make ${maxCalls} calls`);
    const part: CallPart = { type: 'dynamic-tool', toolName, toolCallId, input, state: 'input-available' };
    if (mistake !== undefined) return { ...part, state: 'output-error', errorText: `not run: ${mistake}` };
    const approval = this.tools.approvalFor(part);
    if (!approval) return part;
    const errorText = await this.tools.refusalOf(part, this.origin());
    if (errorText !== undefined) return { ...part, state: 'output-error', errorText };
    return { ...part, state: 'approval-requested', approval };
  }

  /** Runs calls in the model's order, up to one that needs approval. */
  private async runCalls(): Promise<void> {
    for (const part of callsIn(this.message)) {
      if (mayRun(part)) this.requestMissingApproval(part);
      if (awaitsApproval(part)) return;
      if (!mayRun(part)) continue;
      this.addUsage({ calls: 1 });
      const onQuestion = (): void => this.changes.emit();
      await abortable(this.tools.run(part, this.origin(), onQuestion), this.aborting.signal);
      this.addUsage(usageBy(part));
      this.changes.emit();
      await this.write();
    }
  }

  /** Requests an approval for a call that still needs one, such as one whose tool has changed since its approval. */
  private requestMissingApproval(part: CallPart): void {
    const approval = this.tools.approvalFor(part);
    if (!approval) return;
    const note = 'The tool has changed since you agreed: this call was not run';
    const isAskedAgain = part.approval !== undefined;
    Object.assign(part, {
      state: 'approval-requested',
      approval: { ...approval, ...(isAskedAgain && { note }) },
    });
  }

  /** The origin of the turn's calls, with the caller's present rights. */
  private origin(): CallOrigin {
    const { chat, principal } = this.turn;
    const { id: chatId, project, turns: turn, uiSession } = chat;
    return { chatId, project, turn, principal: principal(), uiSession: uiSession ?? undefined };
  }

  /** The error for the user if a limit is reached, otherwise undefined. */
  private limitError(): string | undefined {
    const { maxTokens, maxCost } = this.limits;
    const { inputTokens, outputTokens, cost } = this.usage;
    const tokens = inputTokens + outputTokens;
    if (stepsIn(this.message).length >= maxSteps)
      return `A turn may take ${maxSteps} steps, and this one has: send another message to go on`;
    if (maxTokens > 0 && tokens >= maxTokens)
      return `This chat has used ${tokens} tokens of the ${maxTokens} it may (ASSISTANT_MAX_TOKENS): begin another chat`;
    if (maxCost > 0 && cost !== null && cost >= maxCost)
      return `This chat has cost $${cost.toFixed(2)} of the $${maxCost} it may (ASSISTANT_MAX_COST): begin another chat`;
    return undefined;
  }

  /** Adds to the usage of the chat. An unknown cost stays unknown until a known one is added. */
  private addUsage(more: Partial<ChatUsageView>): void {
    // Earlier versions could store negative figures, as endpoints reported them.
    const sum = (name: keyof ChatUsageView): number => Math.max(0, this.usage[name] ?? 0) + (more[name] ?? 0);
    const isCostKnown = this.usage.cost !== null || (more.cost ?? null) !== null;
    this.usage = {
      steps: sum('steps'),
      calls: sum('calls'),
      inputTokens: sum('inputTokens'),
      outputTokens: sum('outputTokens'),
      cost: isCostKnown ? sum('cost') : null,
    };
  }

  /**
   * The state to write.
   * @param from index of the first part; default: that of the last two steps, because earlier ones do not change
   */
  private stateFrom(from?: number) {
    const { message, usage } = this;
    const stepStarts = message.parts.flatMap(({ type }, index) => (type === 'step-start' ? [index] : []));
    return { message, from: from ?? stepStarts.at(-2) ?? 0, usage, position: this.turn.messages.length };
  }

  /** Stores the state of the run. @throws if the run was stopped or its chat deleted */
  private async write(from?: number): Promise<void> {
    const { chat, runId } = this.turn;
    if (!(await this.repository.write(chat.id, runId, this.stateFrom(from))))
      this.abort({ state: 'stopped', error: null });
    this.aborting.signal.throwIfAborted();
  }

  /** The end of a run that has failed or was ended. */
  private endOf(error: unknown): RunEnd {
    if (this.decidedEnd) return this.decidedEnd;
    if (error instanceof NoAnswer) return { state: 'failed', error: error.message };
    this.logger.error(error, 'a turn of the assistant failed');
    return { state: 'failed', error: 'The turn failed within the server; its log has the reason' };
  }
}

/** Id of a call: nine letters and digits, because some endpoints accept nothing else. The same if a turn is resumed. */
const idOfCall = (turn: number, step: number, index: number): string =>
  `t${base36(turn, 3)}s${base36(step, 2)}${base36(index + 1, 2)}`;
const base36 = (number: number, digits: number): string => number.toString(36).padStart(digits, '0');
