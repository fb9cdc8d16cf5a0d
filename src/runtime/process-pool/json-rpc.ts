import process from 'node:process';
import type { Writable } from 'node:stream';
import type { JsonObject } from '../../base/common/json.js';
import type { Reply } from './pool.types.js';

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

/** The id as text, because some tools turn it into a number; undefined if it is no id. */
export function idOf(id: unknown): string | undefined {
  if (typeof id === 'string' && id !== '') return id;
  return typeof id === 'number' ? String(id) : undefined;
}

/** Reads the reply in a message. @returns a sentence about the rule of JSON-RPC that it breaks, if it breaks one */
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
