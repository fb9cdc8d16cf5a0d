import type { JsonObject } from '../common/json.js';
import { quotedChars } from './failure-messages.js';
import type { NoticeListener } from '../common/tool-notice.js';
import { errorReply, freshId, idOf, replyIn } from './json-rpc.js';
import { readNotice as readOwnNotice } from './own-dialect.js';
import type {
  AddressedNotice,
  Dialect,
  Ending,
  PoolFailureReason,
  ProcessOutput,
  Reply,
  TerminationReason,
} from './pool.types.js';

/** The kinds of message: the answer to an open request, something beside that, or no message of the protocol at all. */
export type Heard = 'answer' | 'aside' | 'stray';

/** The listeners for the answer to one request; exactly one of the two is called, or none after `forget`. */
export interface Exchange {
  /** The call it belongs to, for notices that name it so. */
  readonly executionId?: string | undefined;
  /** Its caller is gone; the tool was asked to end it. */
  readonly givenUp?: TerminationReason;
  /** @param outputText the answer as it was written */
  answered(reply: Reply, outputBytes: number, outputText?: string): void;
  failed(reason: PoolFailureReason, message: string, ending?: Ending): void;
  /** The tool said something about it; absent where nobody listens. */
  readonly noticed?: NoticeListener | undefined;
}

const idMember = /"id"\s*:\s*"?([\w-]+)/g;
const answerMember = /"(jsonrpc|result|error)"\s*:/;
/** A tool that logs what it was asked repeats the request, with its id. */
const looksLikeAnswer = (text: string): boolean => answerMember.test(text) && !/"method"\s*:/.test(text);

/**
 * The requests that are open on one process, and what each of its messages means to them: answers are matched by id,
 * an answer that nobody waits for is dropped. Knows nothing of pipes.
 */
export class Conversation {
  private readonly open = new Map<string, Exchange>();
  /** A request was cancelled: from now on what names no request may be about that one. */
  private hasCancelled = false;

  /** @param hear gets the requests of the process, and its notifications that are no notices */
  constructor(
    private readonly say: (output: ProcessOutput) => void,
    private readonly readNotice: Dialect['readNotice'] = readOwnNotice,
    private readonly hear: (message: JsonObject) => void = () => undefined,
  ) {}

  get size(): number {
    return this.open.size;
  }

  /** Why the open requests were given up, when that holds for every one of them. */
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

  /** Drops the request: its answer, should it come, is passed over. */
  forget(id: string): void {
    this.open.delete(id);
  }

  /** The tool is asked to end a request; `exchange` gets its answer. */
  cancel(id: string, exchange: Exchange): void {
    this.hasCancelled = true;
    this.open.set(id, exchange);
  }

  receive(message: JsonObject, bytes: number, text?: string): Heard {
    const isRpc = message.jsonrpc === '2.0';
    const isAnswer = 'result' in message || 'error' in message;
    const id = idOf(message.id);
    if (!isAnswer && 'method' in message) {
      if (!isRpc) return 'stray';
      if (id === undefined) return this.notified(message);
      this.hear(message);
      return 'aside';
    }
    if (id === undefined) return isRpc ? this.unaddressed(message.error, bytes) : 'stray';
    // An answer that nobody waits for any more, or no message of this protocol, such as a log record in JSON.
    if (!this.open.has(id)) return isRpc ? 'aside' : 'stray';
    if (!isRpc && !isAnswer) return 'stray';
    const reply = replyIn(message);
    const exchange = this.take(id);
    if (typeof reply === 'string')
      exchange?.failed('protocol_error', `The tool broke the protocol: ${reply}`);
    else exchange?.answered(reply, bytes, text);
    return 'answer';
  }

  /**
   * A text that is not read and may be an answer: no other will come, so its request fails at once.
   * @returns whether it names an open request
   */
  broken(text: string, why: string): boolean {
    if (this.open.size === 0 || !looksLikeAnswer(text)) return false;
    for (const [, id = ''] of text.matchAll(idMember)) {
      const exchange = this.take(id);
      if (!exchange) continue;
      exchange.failed(
        'protocol_error',
        `The tool broke the protocol: its answer ${why}: ${text.slice(0, quotedChars)}`,
      );
      return true;
    }
    return false;
  }

  failAll(reason: PoolFailureReason, message: string, ending?: Ending): void {
    const exchanges = [...this.open.values()];
    this.open.clear();
    for (const exchange of exchanges) exchange.failed(reason, message, ending);
  }

  /** The tool could not read a request; with one open there is no doubt which. */
  private unaddressed(error: unknown, bytes: number): Heard {
    const reply = errorReply(error);
    const only = this.only();
    if (only === undefined || !reply) return 'stray';
    this.take(only)?.answered(reply, bytes);
    return 'answer';
  }

  private notified(message: JsonObject): Heard {
    const said = this.readNotice(message.method, message.params);
    if (said === 'malformed') return 'stray';
    if (said === 'unknown') {
      this.hear(message);
      return 'aside';
    }
    const exchange = this.addressee(said);
    const { notice } = said;
    if (notice.type === 'log') this.say({ type: 'log', notice, executionId: exchange?.executionId });
    exchange?.noticed?.(notice);
    return 'aside';
  }

  private addressee({ id, executionId }: AddressedNotice): Exchange | undefined {
    if (executionId !== undefined)
      return [...this.open.values()].find((exchange) => exchange.executionId === executionId);
    const named = id ?? this.only();
    return named === undefined ? undefined : this.open.get(named);
  }

  /** The id of the one request that a message without an id can only be about. */
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
