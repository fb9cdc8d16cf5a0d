import { performance } from 'node:perf_hooks';
import { abortable } from '../../base/common/abortable.js';
import type { Cancellation } from '../../base/common/cancellation.js';
import type { Deadline } from '../../base/common/deadline.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import { ToolFailure } from './tool-outcome.js';

/** A question of a tool to the person behind its caller, in MCP's form: `elicitation/create` and its params. */
export interface Question {
  readonly method: string;
  readonly params: JsonObject;
}

/** The answer of the caller's client: a result, or an error of JSON-RPC. */
export type Answered =
  { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } };

/** Ways in which the caller of a call can be asked. */
export interface Asks {
  /** MCP client capabilities that the caller has declared: `{elicitation: {form: {}, url: {}}}`. */
  readonly capabilities: JsonObject;
  /**
   * Asks while the call waits. Absent: the call ends with its questions, and the caller repeats it with the answers.
   * @param over aborts when the answer is not needed any more
   */
  readonly live?: (question: Question, over: AbortSignal) => Promise<Answered>;
  /** The caller's answers to the questions of the previous round. */
  readonly answers?: Answers | undefined;
  /** The previous round. Set by the door after it has checked that it belongs to this call. */
  readonly round?: Round;
}

/** Answers by the keys of their questions, with the state of that round. */
export interface Answers {
  readonly inputResponses: JsonObject;
  readonly requestState?: string | undefined;
}

/** A round that ended with questions. The next round continues its execution. */
export interface Round {
  readonly executionId: string;
  /** Start of the execution, milliseconds since the epoch. */
  readonly startedAt: number;
  /** Time that the tool has used so far, in milliseconds. */
  readonly spentMs: number;
  readonly number: number;
}

/** Ends a round with a tool's questions. The caller repeats the call with the answers. */
export class InputRequired extends Error {
  override readonly name = 'InputRequired';

  constructor(
    /** Questions by keys, which the answers repeat. Absent: the call only needs to be repeated. */
    readonly inputRequests: Readonly<Record<string, Question>> | undefined,
    readonly requestState: string | undefined,
    readonly executionId = '',
  ) {
    super('The tool asks its caller');
  }
}

/** Asks of a caller that can be asked while the call waits. */
export type LiveAsks = Asks & Required<Pick<Asks, 'live'>>;
export const isLive = (asks: Asks): asks is LiveAsks => asks.live !== undefined;

/** Max time to answer all questions of a call, or of one of its rounds. */
export const maxAskedMs = 600_000;
/** The message of a call that ended because nobody answered. */
export const unanswered = `Nobody answered the tool's question within ${maxAskedMs / 60_000} minutes`;

/** The mode of an elicitation: `form` (the default) or `url`. */
export const modeOf = ({ mode = 'form' }: JsonObject): string => String(mode);

/** The capability that the caller lacks for a question; undefined if it has declared it. */
export function missingFor(
  { method, params }: Question,
  capabilities: JsonObject = {},
): JsonObject | undefined {
  const [name = ''] = method.split('/');
  const mode = name === 'elicitation' ? modeOf(params) : undefined;
  const declared = capabilities[name];
  // Without a mode, the capability means forms, which were the only mode before.
  const isDeclared = (all: JsonObject): boolean =>
    mode === undefined || mode in all || (mode === 'form' && !('url' in all));
  if (isObject(declared) && isDeclared(declared)) return undefined;
  return { [name]: mode === undefined ? {} : { [mode]: {} } };
}

/** The failure of a call whose caller did not declare the needed capability. @param data names it, as `requiredCapabilities` */
export const notAskable = (why: string, data: unknown): ToolFailure =>
  new ToolFailure('capability_missing', why, { data, isToolFault: false });

/** The execution whose tool asks. */
interface AskingRun {
  readonly deadline: Deadline;
  readonly cancellation: Cancellation;
  readonly notes: { askedMs?: number };
}

/** Asks the caller of one call, one question at a time. The call's deadline is paused meanwhile. */
export class Asker {
  /** Set if the call must end because a person took too long. */
  failure: ToolFailure | undefined;
  /** Ends with the last question, never rejects. */
  private lastQuestion: Promise<unknown> = Promise.resolve();
  private readonly callEnded = new AbortController();

  /** @param leftMs time for all questions of the call */
  constructor(
    private readonly run: AskingRun,
    private readonly asks: LiveAsks,
    private leftMs = maxAskedMs,
  ) {}

  /** Asks a question of an MCP server, and answers errors as JSON-RPC does. @returns undefined without the caller's capability */
  readonly relay = ({ method, params }: JsonObject): Promise<Answered> | undefined => {
    const { _meta: _ofServer, ...about } = isObject(params) ? params : {};
    const question = { method: String(method), params: about };
    if (missingFor(question, this.asks.capabilities)) return undefined;
    const failed = (error: Error): Answered => ({ error: { code: -32603, message: error.message } });
    return this.ask(question).catch(failed);
  };

  /** Asks a question. @throws an error with the reason if there is no answer */
  ask(question: Question): Promise<Answered> {
    const answer = this.lastQuestion.then(() => this.askNow(question));
    this.lastQuestion = answer.catch(() => undefined);
    return answer;
  }

  /** Ends open questions when the call has ended. */
  close(): void {
    this.callEnded.abort(new Error('The call has ended'));
  }

  /** Asks one question, with the call's deadline paused. */
  private async askNow(question: Question): Promise<Answered> {
    const { deadline, notes, cancellation } = this.run;
    const { live } = this.asks;
    const timeout = AbortSignal.timeout(Math.ceil(this.leftMs));
    const over = AbortSignal.any([this.callEnded.signal, timeout, cancellation.signal]);
    const since = performance.now();
    deadline.pause();
    try {
      return await abortable(live(question, over), over);
    } catch (error) {
      if (cancellation.isCancelled) throw new ToolFailure('cancelled', 'The caller left before it answered');
      if (timeout.aborted) this.failure = new ToolFailure('timeout', unanswered, { isToolFault: false });
      throw this.failure ?? error;
    } finally {
      const askedMs = performance.now() - since;
      this.leftMs = Math.max(0, this.leftMs - askedMs);
      notes.askedMs = Math.round((notes.askedMs ?? 0) + askedMs);
      // After a failure no time is left, so that the call ends.
      deadline.resume(this.failure ? 0 : undefined);
    }
  }
}
