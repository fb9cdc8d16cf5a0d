import type { JsonObject } from '../../base/common/json.js';
import { notMessage, quotedChars } from './failure-messages.js';
import { errorReply, idOf, replyIn } from './json-rpc.js';
import type { NoticeListener } from '../../base/common/tool-notice.js';
import { readNotice as readOwnNotice } from './own-dialect.js';
import type {
  AddressedNotice,
  Dialect,
  Ending,
  PoolFailureReason,
  ProcessOutput,
  Relay,
  Reply,
  TerminationReason,
} from './pool.types.js';

/**
 * `answer`: answers an open request. `other`: a notification, a request of the process, or an answer that comes too late.
 * `stray`: JSON that is no message of the protocol.
 */
export type MessageKind = 'answer' | 'other' | 'stray';

/** Member of `_meta` by which a request of the process names the pool's request that it belongs to. */
export const belongsTo = 'toolkeeper/request';

/** The caller of a call, to whom requests of the process can be passed on. */
export interface AskableCaller {
  /** Max duration of the call. The process may ask for a call until then, even if the call was abandoned. */
  readonly limitMs: number;
  relay: Relay;
  /** Notes that a request of the process was not passed on. */
  noteUnasked(message: JsonObject): void;
}

/** Callbacks of one request: exactly one of `answered` and `failed` is called, or none after `forget`. */
export interface Exchange {
  /** The call that the request belongs to, for notices that name it by this id. */
  readonly executionId?: string | undefined;
  /** Why the request was abandoned; set once its cancellation was sent to the tool. */
  readonly givenUp?: TerminationReason;
  /** @param outputText the answer as the tool wrote it */
  answered(reply: Reply, outputBytes: number, outputText?: string): void;
  failed(reason: PoolFailureReason, message: string, ending?: Ending): void;
  /** Receives notices about the request. */
  readonly noticed?: NoticeListener | undefined;
  readonly caller?: AskableCaller;
}

/** Patterns of answers that are almost JSON: JSON within other text, and objects as Python, Ruby or Go print them. */
const answerPatterns = [
  { begins: /^/, quote: '"' },
  { begins: /^\uFEFF?\s*(\{|map\[)/, quote: `\\\\?["']?` },
].map(({ begins, quote }) => {
  const member = (names: string): string => `(?<!\\w)${quote}(?:${names})${quote}\\s*(?::|=>|=)`;
  return {
    begins,
    answer: new RegExp(member('jsonrpc|result|error')),
    // A tool's log of the request itself repeats its id.
    request: new RegExp(member('method')),
    id: new RegExp(`${member('id')}\\s*${quote}?([\\w-]+)`, 'g'),
  };
});

/** Ids in a text that looks like an answer; empty if it does not. */
const idsIn = (text: string): string[] =>
  answerPatterns
    .filter(({ begins, answer, request }) => begins.test(text) && answer.test(text) && !request.test(text))
    .flatMap(({ id }) => Array.from(text.matchAll(id), ([, found = '']) => found));

/** Below 2^30, so that V8 stores the ids as small integers. */
const idRange = 0x4000_0000;

/** Max remembered ids of abandoned requests, whose answers may come late. */
const maxForgotten = 100;

/** The open requests of one process. Matches messages to them by id, and drops answers to unknown requests. */
export class Conversation {
  private readonly open = new Map<string, Exchange>();
  /** Set once a request was cancelled: from then on, messages without an id may belong to that request. */
  private hasCancelled = false;
  /** Ids of abandoned requests, oldest first. */
  private readonly forgotten = new Set<string>();
  /** Time by performance.now() until which a request of the process may belong to an abandoned call. */
  private unclearUntil = 0;

  /**
   * @param handle receives requests of the process, and its notifications that are not notices
   * @param isFinal whether an answer ends its request; it stays open otherwise
   */
  constructor(
    private readonly emit: (output: ProcessOutput) => void,
    private readonly readNotice: Dialect['readNotice'] = readOwnNotice,
    private readonly handle: (message: JsonObject) => void = () => undefined,
    private readonly isFinal: (id: string, reply: Reply) => boolean = () => true,
  ) {}

  get size(): number {
    return this.open.size;
  }

  /** The call of the only open request; undefined if there are several. */
  get execution(): string | undefined {
    return this.open.get(this.onlyOpenId() ?? '')?.executionId;
  }

  /** Why the open requests were abandoned; undefined if any of them was not. */
  get givenUp(): TerminationReason | undefined {
    let reason: TerminationReason | undefined;
    for (const exchange of this.open.values()) {
      if (exchange.givenUp === undefined) return undefined;
      reason = exchange.givenUp;
    }
    return reason;
  }

  /** A random id, so that a tool that answers with an id off by one does not answer the next request by mistake. */
  nextId(): string {
    for (;;) {
      const id = String(Math.floor(Math.random() * idRange));
      if (!this.open.has(id)) return id;
    }
  }

  add(id: string, exchange: Exchange): void {
    this.open.set(id, exchange);
  }

  /** Drops a request; a late answer to it is ignored. */
  forget(id: string): void {
    const { limitMs = 0 } = this.open.get(id)?.caller ?? {};
    this.unclearUntil = Math.max(this.unclearUntil, performance.now() + limitMs);
    this.open.delete(id);
    this.forgotten.add(id);
    const [oldest = ''] = this.forgotten;
    if (this.forgotten.size > maxForgotten) this.forgotten.delete(oldest);
  }

  /** Marks a request as cancelled; `exchange` receives its answer from now on. */
  cancel(id: string, exchange: Exchange): void {
    this.hasCancelled = true;
    this.open.set(id, exchange);
  }

  /**
   * Passes a request of the process on to the caller of the call that it names, or of the only open call.
   * @returns undefined if this caller cannot be asked, or if the request may belong to several calls
   */
  relay(message: JsonObject): Promise<Reply> | undefined {
    const { _meta } = (message.params ?? {}) as { readonly _meta?: JsonObject };
    const named = this.open.get(idOf(_meta?.[belongsTo]) ?? '');
    const callers = [...(named ? [named] : this.open.values())].flatMap(({ caller }) => caller ?? []);
    const isClear = named !== undefined || (callers.length === 1 && performance.now() >= this.unclearUntil);
    const reply = isClear ? callers[0]?.relay(message) : undefined;
    if (!reply) for (const caller of callers) caller.noteUnasked(message);
    return reply;
  }

  /** Handles a message of the process. @param bytes its length on the wire @param text its source */
  receive(message: JsonObject, bytes: number, text?: string): MessageKind {
    const isRpc = message.jsonrpc === '2.0';
    const isAnswer = 'result' in message || 'error' in message;
    const id = idOf(message.id);
    if (!isAnswer && 'method' in message) {
      if (!isRpc) return 'stray';
      if (id === undefined) return this.receiveNotification(message);
      this.handle(message);
      return 'other';
    }
    if (id === undefined) return isRpc ? this.receiveUnaddressed(message.error, bytes) : 'stray';
    // A late answer, or JSON outside of the protocol, such as a log record.
    if (!this.open.has(id)) return isRpc && this.forgotten.delete(id) ? 'other' : 'stray';
    if (!isRpc && !isAnswer) return 'stray';
    const reply = replyIn(message);
    if (typeof reply === 'string')
      this.take(id)?.failed('protocol_error', `The tool broke the protocol: ${reply}`);
    else if (this.isFinal(id, reply)) this.take(id)?.answered(reply, bytes, text);
    return 'answer';
  }

  /** Answers a request that was left open. */
  settle(id: string, reply: Reply): void {
    this.take(id)?.answered(reply, Buffer.byteLength(JSON.stringify(reply)));
  }

  /** Fails the open request that unparsable text seems to answer: no other answer will come. @returns whether there is one */
  failBroken(text: string, why: string): boolean {
    if (this.open.size === 0) return false;
    const id = idsIn(text).find((each) => this.open.has(each));
    if (id === undefined) return false;
    const message = `The tool broke the protocol: its answer ${why}: ${text.slice(0, quotedChars)}`;
    this.take(id)?.failed('protocol_error', message);
    return true;
  }

  /** Explains why a stray message answers none of the open requests. */
  whyStray(message: JsonObject): string {
    const isAnswer = message.jsonrpc === '2.0' && !('method' in message);
    if (!isAnswer || this.open.size === 0) return notMessage;
    const given = message.id === undefined ? 'without an id' : `to id ${JSON.stringify(message.id)}`;
    return `it wrote an answer ${given}, expected ${[...this.open.keys()].slice(0, 3).join(' or ')}`;
  }

  failAll(reason: PoolFailureReason, message: string, ending?: Ending): void {
    const exchanges = [...this.open.values()];
    this.open.clear();
    for (const exchange of exchanges) exchange.failed(reason, message, ending);
  }

  /** Handles an error without an id: the tool could not parse a request, which is known if only one is open. */
  private receiveUnaddressed(error: unknown, bytes: number): MessageKind {
    const reply = errorReply(error);
    const only = this.onlyOpenId();
    if (only === undefined || !reply) return 'stray';
    this.take(only)?.answered(reply, bytes);
    return 'answer';
  }

  private receiveNotification(message: JsonObject): MessageKind {
    const addressed = this.readNotice(message.method, message.params);
    if (addressed === 'malformed') return 'stray';
    if (addressed === 'unknown') {
      this.handle(message);
      return 'other';
    }
    const exchange = this.addressee(addressed);
    const { notice } = addressed;
    if (notice.type === 'log') this.emit({ type: 'log', notice, executionId: exchange?.executionId });
    exchange?.noticed?.(notice);
    return 'other';
  }

  /** The open request that a notice belongs to. */
  private addressee({ id, executionId }: AddressedNotice): Exchange | undefined {
    if (executionId !== undefined)
      return [...this.open.values()].find((exchange) => exchange.executionId === executionId);
    const named = id ?? this.onlyOpenId();
    return named === undefined ? undefined : this.open.get(named);
  }

  /** The id of the only open request, to which a message without an id must belong. */
  private onlyOpenId(): string | undefined {
    if (this.hasCancelled || this.open.size !== 1) return undefined;
    const [id] = this.open.keys();
    return id;
  }

  /** Ends a request: returns its callbacks and removes it. */
  private take(id: string): Exchange | undefined {
    const exchange = this.open.get(id);
    this.open.delete(id);
    return exchange;
  }
}
