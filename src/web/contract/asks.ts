import { performance } from 'node:perf_hooks';
import { abortable } from '../../base/common/abortable.js';
import type { Cancellation } from '../../base/common/cancellation.js';
import type { Deadline } from '../../base/common/deadline.js';
import { isObject, type JsonObject } from '../../base/common/json.js';
import { ToolFailure } from './tool-outcome.js';

/** A question of a tool for the person behind its caller, as MCP writes it: `elicitation/create` and its params. */
export interface Question {
  readonly method: string;
  readonly params: JsonObject;
}

/** The answer as the caller's client gives it: a result, or an error of JSON-RPC. */
export type Answered =
  { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } };

/** How the caller of a call can be asked. */
export interface Asks {
  /** MCP's client capabilities, as far as the caller declared them: `{elicitation: {form: {}, url: {}}}`. */
  readonly capabilities: JsonObject;
  /**
   * Asks while the call waits. Absent: the call ends with its questions, and the caller repeats it with the answers.
   * @param over aborts when nobody waits for the answer any more
   */
  readonly live?: (question: Question, over: AbortSignal) => Promise<Answered>;
  /** The caller's answers to the questions of the round before. */
  readonly answers?: Answers | undefined;
  /** The round before. Set by the door, which has checked that it is this call's. */
  readonly round?: Round;
}

/** Answers by the keys of their questions, with the state that came with these. */
export interface Answers {
  readonly inputResponses: JsonObject;
  readonly requestState?: string | undefined;
}

/** A round of a call that ended with questions: the next one goes on with its execution. */
export interface Round {
  readonly executionId: string;
  /** Start of the execution, milliseconds since the epoch. */
  readonly startedAt: number;
  /** Time of the tool until now, in milliseconds. */
  readonly spentMs: number;
  readonly number: number;
}

/** A tool's questions to a caller that repeats its call with the answers: neither an outcome nor a refusal. */
export class InputRequired extends Error {
  override readonly name = 'InputRequired';

  constructor(
    /** By keys that the answers repeat; absent: the call is only to be repeated. */
    readonly inputRequests: Readonly<Record<string, Question>> | undefined,
    readonly requestState: string | undefined,
    readonly executionId = '',
  ) {
    super('The tool asks its caller');
  }
}

export type LiveAsks = Asks & Required<Pick<Asks, 'live'>>;
export const isLive = (asks: Asks | undefined): asks is LiveAsks => asks?.live !== undefined;

/** The longest time that a person may take for all questions of a call, or for those of one of its rounds. */
export const maxAskedMs = 600_000;
export const unanswered = `Nobody answered the tool's question within ${maxAskedMs / 60_000} minutes`;

/** The mode of an elicitation; absent, it is a form. */
export const modeOf = ({ mode = 'form' }: JsonObject): string => String(mode);

/** @returns the capabilities that the caller would have to declare for a question; undefined: it did */
export function missingFor(
  { method, params }: Question,
  capabilities: JsonObject = {},
): JsonObject | undefined {
  const [name = ''] = method.split('/');
  const mode = name === 'elicitation' ? modeOf(params) : undefined;
  const declared = capabilities[name];
  // Without any mode it stands for forms, as it did before there were others.
  const isDeclared = (all: JsonObject): boolean =>
    mode === undefined || mode in all || (mode === 'form' && !('url' in all));
  if (isObject(declared) && isDeclared(declared)) return undefined;
  return { [name]: mode === undefined ? {} : { [mode]: {} } };
}

/** The end of a call whose tool asks what its caller did not declare. @param data with `requiredCapabilities` */
export const notAskable = (why: string, data: unknown): ToolFailure =>
  new ToolFailure('capability_missing', why, { data, toolFault: false });

/** The execution whose tool asks. */
interface AskingRun {
  readonly deadline: Deadline;
  readonly cancellation: Cancellation;
  readonly notes: { askedMs?: number };
}

/** Asks the caller of one call, one question after another. The call's deadline stands still meanwhile. */
export class Asker {
  /** The reason why the call is to end: a person took too long. */
  failure: ToolFailure | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private readonly over = new AbortController();

  /** @param leftMs for all questions of the call */
  constructor(
    private readonly run: AskingRun,
    private readonly asks: LiveAsks,
    private leftMs = maxAskedMs,
  ) {}

  /** Passes on a question of a server that waits for the answer. @returns undefined if the caller did not declare it */
  readonly relay = ({ method, params }: JsonObject): Promise<Answered> | undefined => {
    const { _meta: _ofServer, ...about } = isObject(params) ? params : {};
    const question = { method: String(method), params: about };
    if (missingFor(question, this.asks.capabilities)) return undefined;
    const failed = (error: Error): Answered => ({ error: { code: -32603, message: error.message } });
    return this.ask(question).catch(failed);
  };

  /** @throws the reason why there is no answer */
  ask(question: Question): Promise<Answered> {
    const answer = this.last.then(() => this.askNow(question));
    this.last = answer.catch(() => undefined);
    return answer;
  }

  /** The call has ended: nobody waits for an answer. */
  close(): void {
    this.over.abort(new Error('The call has ended'));
  }

  private async askNow(question: Question): Promise<Answered> {
    const { deadline, notes, cancellation } = this.run;
    const { live } = this.asks;
    const late = AbortSignal.timeout(Math.ceil(this.leftMs));
    const over = AbortSignal.any([this.over.signal, late, cancellation.signal]);
    const since = performance.now();
    deadline.stop();
    try {
      return await abortable(live(question, over), over);
    } catch (error) {
      if (cancellation.isCancelled) throw new ToolFailure('cancelled', 'The caller left before it answered');
      if (late.aborted) this.failure = new ToolFailure('timeout', unanswered, { toolFault: false });
      throw this.failure ?? error;
    } finally {
      const askedMs = performance.now() - since;
      this.leftMs = Math.max(0, this.leftMs - askedMs);
      notes.askedMs = Math.round((notes.askedMs ?? 0) + askedMs);
      if (this.failure) deadline.goOn(0);
      else deadline.goOn();
    }
  }
}
