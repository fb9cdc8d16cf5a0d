import { jsonExcerpt } from '../common/json-depth.js';
import { classify, freshId, type Incoming } from './json-rpc.js';
import { type JsonObject, WrittenResult } from './message-reader.js';
import { type AddressedNotice, readNotice } from './notices.js';
import type { PoolFailureReason, TerminationReason } from './pool.types.js';
import type { Ending, Exchange, ProcessObserver } from './tool-process.types.js';

const noiseChars = 500;

/**
 * The requests that are open on one process, and what each of its messages means to them: answers are matched by id,
 * an answer that nobody waits for is dropped. Knows nothing of pipes.
 */
export class Conversation {
  private readonly open = new Map<string, Exchange>();
  /** A request was cancelled: from now on what names no request may be about that one. */
  private hasCancelled = false;

  constructor(private readonly observer: Pick<ProcessObserver, 'noise' | 'log'>) {}

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

  /** Nobody waits for this answer any more. */
  forget(id: string): void {
    this.open.delete(id);
  }

  /** The tool is asked to end a request; `exchange` gets its answer. */
  cancel(id: string, exchange: Exchange): void {
    this.hasCancelled = true;
    this.open.set(id, exchange);
  }

  receive(message: JsonObject | WrittenResult, bytes: number): void {
    if (message instanceof WrittenResult) {
      const { id, result, json } = message;
      return this.take(id)?.answered({ result }, bytes, json);
    }
    const incoming = classify(message, this.open);
    switch (incoming.kind) {
      case 'reply':
        return this.take(incoming.id)?.answered(incoming.reply, bytes);
      case 'malformed':
        return this.take(incoming.id)?.failed(
          'protocol_error',
          `The tool broke the protocol: ${incoming.problem}`,
        );
      case 'unaddressed':
        return this.unaddressed(message, incoming, bytes);
      case 'notification':
        return this.notified(message);
      case 'noise':
        return this.stray(message);
      case 'request':
      case 'late':
        return;
    }
  }

  failAll(reason: PoolFailureReason, message: string, ending?: Ending): void {
    const exchanges = [...this.open.values()];
    this.open.clear();
    for (const exchange of exchanges) exchange.failed(reason, message, ending);
  }

  /** The tool could not read a request; with one open there is no doubt which. */
  private unaddressed(
    message: JsonObject,
    { reply }: Extract<Incoming, { kind: 'unaddressed' }>,
    bytes: number,
  ): void {
    const only = this.only();
    if (only === undefined) return this.stray(message);
    this.take(only)?.answered(reply, bytes);
  }

  private notified(message: JsonObject): void {
    const said = readNotice(message.method, message.params);
    if (said === 'malformed') return this.stray(message);
    if (said === 'unknown') return;
    const exchange = this.addressee(said);
    if (said.notice.type === 'log') this.observer.log(said.notice, exchange?.executionId);
    exchange?.noticed?.(said.notice);
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

  private stray(message: JsonObject): void {
    this.observer.noise(jsonExcerpt(message, noiseChars));
  }

  private take(id: string): Exchange | undefined {
    const exchange = this.open.get(id);
    this.open.delete(id);
    return exchange;
  }
}
