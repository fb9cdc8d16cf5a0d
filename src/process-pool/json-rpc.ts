import process from 'node:process';
import type { Writable } from 'node:stream';
import type { JsonObject } from '../common/json.js';
import type { Reply } from './pool.types.js';

/**
 * One request on its line; ids are strings, as shell tools send them back most easily. U+2028 and U+2029 may stand raw
 * in JSON, but Node's readline, which the Node template uses, takes them for line ends.
 */
export function encodeRequest(id: string, method: string, params: object): string {
  return encode({ jsonrpc: '2.0', id, method, params });
}

/** One notification on its line: nothing answers it. */
export function encodeNotification(method: string, params: object): string {
  return encode({ jsonrpc: '2.0', method, params });
}

/** The answer to a request of the process, under the id that it gave. */
export function encodeReply(id: unknown, reply: Reply): string {
  return encode({ jsonrpc: '2.0', id, ...reply });
}

const escapeSeparator = (char: string): string => (char === '\u2028' ? '\\u2028' : '\\u2029');

function encode(message: object): string {
  const json = JSON.stringify(message);
  return `${/[\u2028\u2029]/.test(json) ? json.replace(/[\u2028\u2029]/g, escapeSeparator) : json}\n`;
}

const ids = 0x4000_0000;

/**
 * The id of a process's next request, a whole number. Not the next number: a tool that answers under an id near the
 * right one by mistake must not answer the request that comes next. Small enough for the engine's small integers.
 * @param open the ids that wait for an answer
 */
export function freshId(open: { has(id: string): boolean }): string {
  for (;;) {
    const id = String(Math.floor(Math.random() * ids));
    if (!open.has(id)) return id;
  }
}

/** Python and Node tools echo the string; some turn it into a number. */
export function idOf(id: unknown): string | undefined {
  if (typeof id === 'string' && id !== '') return id;
  return typeof id === 'number' ? String(id) : undefined;
}

/** @returns the reply that a message holds, or the rule of JSON-RPC that it breaks */
export function replyIn(message: JsonObject): Reply | string {
  if (message.jsonrpc !== '2.0') return 'its answer lacks "jsonrpc": "2.0"';
  // JSON-RPC 1 style answers carry both members, one of them null.
  if (message.error === undefined || message.error === null)
    return 'result' in message ? { result: message.result } : 'its answer has neither a result nor an error';
  return errorReply(message.error) ?? 'its error is not {"code": integer, "message": string}';
}

export function errorReply(error: unknown): Reply | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, message, data } = error as Record<string, unknown>;
  if (!Number.isInteger(code) || typeof message !== 'string') return undefined;
  return { error: { code: code as number, message, ...(data === undefined ? {} : { data }) } };
}

/** Maximum characters of one write: more lines would hardly make it cheaper, and it may fill the pipe. */
const gatheredChars = 16_384;

/** Writes lines to a process: those that come together, as those of all calls whose starts were recorded at once do, share one system call. */
export class LineWriter {
  /** Lines to be written when those who bring more of them have had their turn. */
  private outgoing = '';
  /** A write filled the pipe: nothing more should be written until it drains. */
  congested = false;

  constructor(private readonly stdin: () => Writable | undefined) {}

  /** Bytes, or characters, that wait to be read. */
  get waiting(): number {
    return (this.stdin()?.writableLength ?? 0) + this.outgoing.length;
  }

  write(line: string): void {
    if (this.outgoing === '') process.nextTick(() => this.flush());
    this.outgoing += line;
    if (this.outgoing.length >= gatheredChars) this.flush();
  }

  /** Writes what is left; nothing may follow. */
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
