import process from 'node:process';
import type { Writable } from 'node:stream';
import type { JsonObject } from '../../base/common/json.js';
import { notMessage, quotedChars } from './failure-messages.js';
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

/** The answer to an open request, another message of the protocol, or none of its messages. */
export type MessageKind = 'answer' | 'aside' | 'stray';

/** Member of `_meta` with which a process's request names the request of ours that it belongs to. */
export const belongsTo = 'toolkeeper/request';

/** The caller of a call, as its process may ask it. */
export interface Asker {
  /** Max duration of the call; afterwards nothing is asked for it any more. */
  readonly limitMs: number;
  relay: Relay;
  /** Notes that the tool asked something and was refused. */
  unasked(message: JsonObject): void;
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
  /** The caller, to which requests of the process are passed on. */
  readonly asker?: Asker;
}

/** Patterns of answers that are almost JSON: JSON within other text, and objects as languages print them. */
const spellings = [
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

/** Ids in a text that looks like an answer. */
const answeredIds = (text: string): string[] =>
  spellings
    .filter(({ begins, answer, request }) => begins.test(text) && answer.test(text) && !request.test(text))
    .flatMap(({ id }) => Array.from(text.matchAll(id), ([, found = '']) => found));

/** Max remembered ids of abandoned requests, whose answers may come late. */
const maxForgotten = 100;

/**
 * The open requests of one process. Matches incoming messages to them by id and drops answers to unknown requests.
 * Independent of pipes.
 */
export class Conversation {
  private readonly open = new Map<string, Exchange>();
  /** Set once a request was cancelled: messages without an id may then belong to that one. */
  private hasCancelled = false;
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

  /** The call of its only open request. */
  get execution(): string | undefined {
    return this.open.get(this.only() ?? '')?.executionId;
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

  nextId(): string {
    return freshId(this.open);
  }

  add(id: string, exchange: Exchange): void {
    this.open.set(id, exchange);
  }

  /** Drops a request; a late answer to it is ignored. */
  forget(id: string): void {
    const { limitMs = 0 } = this.open.get(id)?.asker ?? {};
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
   * Passes a request of the process on to a caller: that of the call which it names, else that of the only call.
   * @returns undefined if this caller cannot be asked, or if the request may belong to several calls
   */
  relay(message: JsonObject): Promise<Reply> | undefined {
    const { _meta } = (message.params ?? {}) as { readonly _meta?: JsonObject };
    const named = this.open.get(idOf(_meta?.[belongsTo]) ?? '');
    const calls = [...(named ? [named] : this.open.values())].flatMap(({ asker }) => asker ?? []);
    const isClear = named !== undefined || (calls.length === 1 && performance.now() >= this.unclearUntil);
    const reply = isClear ? calls[0]?.relay(message) : undefined;
    if (!reply) for (const call of calls) call.unasked(message);
    return reply;
  }

  receive(message: JsonObject, bytes: number, text?: string): MessageKind {
    const isRpc = message.jsonrpc === '2.0';
    const isAnswer = 'result' in message || 'error' in message;
    const id = idOf(message.id);
    if (!isAnswer && 'method' in message) {
      if (!isRpc) return 'stray';
      if (id === undefined) return this.notified(message);
      this.handle(message);
      return 'aside';
    }
    if (id === undefined) return isRpc ? this.unaddressed(message.error, bytes) : 'stray';
    // A late answer, or JSON outside of the protocol, such as a log record.
    if (!this.open.has(id)) return isRpc && this.forgotten.delete(id) ? 'aside' : 'stray';
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

  /**
   * Fails the open request that unparsable text seems to answer, because no other answer will come.
   * @returns whether the text names an open request
   */
  broken(text: string, why: string): boolean {
    if (this.open.size === 0) return false;
    const id = answeredIds(text).find((each) => this.open.has(each));
    if (id === undefined) return false;
    const message = `The tool broke the protocol: its answer ${why}: ${text.slice(0, quotedChars)}`;
    this.take(id)?.failed('protocol_error', message);
    return true;
  }

  /** @returns why a message answers none of the open requests */
  mismatch(message: JsonObject): string {
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
  private unaddressed(error: unknown, bytes: number): MessageKind {
    const reply = errorReply(error);
    const only = this.only();
    if (only === undefined || !reply) return 'stray';
    this.take(only)?.answered(reply, bytes);
    return 'answer';
  }

  private notified(message: JsonObject): MessageKind {
    const addressed = this.readNotice(message.method, message.params);
    if (addressed === 'malformed') return 'stray';
    if (addressed === 'unknown') {
      this.handle(message);
      return 'aside';
    }
    const exchange = this.addressee(addressed);
    const { notice } = addressed;
    if (notice.type === 'log') this.emit({ type: 'log', notice, executionId: exchange?.executionId });
    exchange?.noticed?.(notice);
    return 'aside';
  }

  private addressee({ id, executionId }: AddressedNotice): Exchange | undefined {
    if (executionId !== undefined)
      return [...this.open.values()].find((exchange) => exchange.executionId === executionId);
    const named = id ?? this.only();
    return named === undefined ? undefined : this.open.get(named);
  }

  /** The id of the only open request, to which a message without an id must belong. */
  private only(): string | undefined {
    if (this.hasCancelled || this.open.size !== 1) return undefined;
    const [id] = this.open.keys();
    return id;
  }

  private take(id: string): Exchange | undefined {
    const exchange = this.open.get(id);
    this.open.delete(id);
    return exchange;
  }
}

/**
 * Encodes a request as one line. Ids are strings, which shell tools echo most easily. U+2028 and U+2029 are escaped:
 * they are valid in JSON, but Node's readline, which the Node template uses, splits lines at them.
 */
export function encodeRequest(id: string, method: string, params: object): string {
  return encode({ jsonrpc: '2.0', id, method, params });
}

/** Encodes a notification as one line. */
export function encodeNotification(method: string, params: object): string {
  return encode({ jsonrpc: '2.0', method, params });
}

/** Encodes an answer as one line. @param id as the process sent it */
export function encodeReply(id: unknown, reply: Reply): string {
  return encode({ jsonrpc: '2.0', id, ...reply });
}

const escapeSeparator = (char: string): string => (char === '\u2028' ? '\\u2028' : '\\u2029');

function encode(message: object): string {
  const json = JSON.stringify(message);
  return `${/[\u2028\u2029]/.test(json) ? json.replace(/[\u2028\u2029]/g, escapeSeparator) : json}\n`;
}

/** Below 2^30, so that V8 stores the ids as small integers. */
const idRange = 0x4000_0000;

/**
 * A random request id. Ids are not consecutive, so that a tool that answers with an id off by one does not answer the
 * next request by mistake.
 * @param open ids of the requests that wait for an answer
 */
export function freshId(open: { has(id: string): boolean }): string {
  for (;;) {
    const id = String(Math.floor(Math.random() * idRange));
    if (!open.has(id)) return id;
  }
}

/** The id as text: some tools turn it into a number. */
export function idOf(id: unknown): string | undefined {
  if (typeof id === 'string' && id !== '') return id;
  return typeof id === 'number' ? String(id) : undefined;
}

/** @returns the reply in a message, or the rule of JSON-RPC that it breaks */
export function replyIn(message: JsonObject): Reply | string {
  if (message.jsonrpc !== '2.0') return 'its answer lacks "jsonrpc": "2.0"';
  // JSON-RPC 1 style answers carry both members, one of them null.
  if (message.error === undefined || message.error === null)
    return 'result' in message ? { result: message.result } : 'its answer has neither a result nor an error';
  return errorReply(message.error) ?? 'its error is not {"code": integer, "message": string}';
}

/** The reply with a JSON-RPC error; undefined if it is malformed. */
export function errorReply(error: unknown): Reply | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, message, data } = error as Record<string, unknown>;
  if (!Number.isInteger(code) || typeof message !== 'string') return undefined;
  return { error: { code: code as number, message, ...(data === undefined ? {} : { data }) } };
}

/** Characters after which a batch is written: larger batches save little and may fill the pipe. */
const maxBatchChars = 16_384;

/** Writes lines to a process, batching those of one tick, such as calls whose starts were recorded together. */
export class LineWriter {
  /** Lines to write at the end of the current tick. */
  private outgoing = '';
  /** Whether a write filled the pipe, so that nothing more should be written until it drains. */
  congested = false;

  constructor(private readonly stdin: () => Writable | undefined) {}

  /** Bytes in the pipe's buffer plus characters not written yet. */
  get waiting(): number {
    return (this.stdin()?.writableLength ?? 0) + this.outgoing.length;
  }

  write(line: string): void {
    if (this.outgoing === '') process.nextTick(() => this.flush());
    this.outgoing += line;
    if (this.outgoing.length >= maxBatchChars) this.flush();
  }

  /** Flushes and closes the stream. */
  end(): void {
    this.flush();
    this.stdin()?.end();
  }

  private flush(): void {
    const lines = this.outgoing;
    this.outgoing = '';
    if (lines !== '' && this.stdin()?.write(lines) === false) this.congested = true;
  }
}
