import type { JsonObject } from '../common/json.js';
import { brace, bracket, endOfString, excessOf, type JsonLimits, quote } from '../common/json-size.js';

/** Receives the objects of a tool's output. */
export interface MessageSink {
  /** A JSON object; `bytes` is its length on the wire, `text` what stood there. */
  message(message: JsonObject, bytes: number, text: string): void;
  /** A line that belongs to no JSON object; or `lines` of them with `bytes` in all, and `text` says so. */
  noise(text: string, lines: number, bytes: number): void;
  /** A text that is not read, and why; it may be the answer to a request. @returns false: it is noise */
  broken(text: string, why: string): boolean;
  /** An object is longer than the cap. */
  overflow(): void;
}

interface Candidate {
  /** Its lines; those before the last `open` are joined in blocks. */
  readonly text: string[];
  open: number;
  lines: number;
  bytes: number;
  depth: number;
}

/** Of a message, asked before it is parsed: so many objects and lists take about 0.1 s to read. */
const limits: JsonLimits = { levels: 128, holders: 100_000, values: Infinity };
/** Shorter messages are not looked through: whatever their depth, they cost little. */
const maxUncounted = 2_000;
/** Deep messages that answer nothing, such as notices, are read up to this length: parsing them costs little. */
const maxDeepAside = 65_536;

/** Maximum lines of a discarded candidate that are shown; the others are counted. */
const shownLines = 20;
/** Lines are joined by so many: each by itself takes up to thirty times its bytes. */
const linesPerBlock = 1_024;

/**
 * Reads JSON objects from lines: one a line as the protocol says, or one pretty-printed over several lines, as shell
 * tools tend to answer. A line that cannot be part of a JSON text ends such an object, so that a stray brace in a
 * tool's chatter swallows no answer. No line is read more than a few times, whatever becomes of it.
 */
export class MessageReader {
  private candidate: Candidate | undefined;

  constructor(
    private readonly maxBytes: number,
    private readonly sink: MessageSink,
  ) {}

  line(text: string, bytes: number): void {
    if (this.candidate) return this.resume(this.candidate, text, bytes);
    const excess = excessIn(text);
    if (excess !== undefined) {
      if (this.sink.broken(text, excess)) return;
      if (bytes > maxDeepAside) return this.sink.noise(text, 1, bytes);
    }
    const message = parseObject(text);
    if (message) return this.sink.message(message, bytes, text);
    this.open(text, bytes);
  }

  /** The output ended; an unfinished object is noise. */
  end(): void {
    this.dropCandidate();
  }

  private open(text: string, bytes: number): void {
    const depth = opensObject(text) ? depthAfter(text, 0) : undefined;
    if (depth === undefined || depth === 0) {
      if (!this.sink.broken(text, notJson)) this.sink.noise(text, 1, bytes);
      return;
    }
    this.candidate = { text: [text], open: 1, lines: 1, bytes, depth };
  }

  private resume(candidate: Candidate, text: string, bytes: number): void {
    const depth = beginsAnew(text) ? undefined : depthAfter(text, candidate.depth);
    if (depth === undefined) {
      this.dropCandidate();
      return this.line(text, bytes);
    }
    const lines = candidate.text;
    lines.push(text);
    if (++candidate.open >= linesPerBlock) {
      lines.push(lines.splice(-candidate.open).join('\n'));
      candidate.open = 0;
    }
    candidate.lines++;
    candidate.bytes += bytes + 1;
    candidate.depth = depth;
    if (candidate.bytes > this.maxBytes) this.overflow();
    else if (depth === 0) this.close(candidate);
  }

  private close(candidate: Candidate): void {
    const text = candidate.text.join('\n');
    const excess = excessIn(text);
    const message = excess === undefined ? parseObject(text) : undefined;
    if (!message) return this.dropCandidate(excess);
    this.candidate = undefined;
    this.sink.message(message, candidate.bytes, text);
  }

  private overflow(): void {
    this.candidate = undefined;
    this.sink.overflow();
  }

  private dropCandidate(why = notJson): void {
    const { candidate } = this;
    if (!candidate) return;
    this.candidate = undefined;
    if (this.sink.broken(candidate.text.join('\n'), why)) return;
    const shown = candidate.text.slice(0, shownLines).join('\n').split('\n', shownLines);
    for (const line of shown) this.sink.noise(line, 1, line.length);
    const more = candidate.lines - shown.length;
    if (more > 0) this.sink.noise(`… and ${more} more lines of no JSON object`, more, candidate.bytes);
  }
}

const notJson = 'is not JSON';

/** Of long messages. @returns the limit that it exceeds, in words */
const excessIn = (text: string): string | undefined =>
  text.length > maxUncounted ? excessOf(text, limits) : undefined;

const opensObject = (text: string): boolean => /^\uFEFF?\s*\{\s*("|$)/.test(text);

/** A protocol message at the line's very beginning: what was being read can only have been noise. */
const beginsAnew = (text: string): boolean => text.startsWith('{') && text.includes('"jsonrpc"');

function parseObject(text: string): JsonObject | undefined {
  const first = text.charCodeAt(0);
  if (first > space && first < firstNotAscii && first !== brace.open) return undefined;
  const bare = first === brace.open ? text : text.replace(/^\uFEFF/, '').trimStart();
  if (bare.charCodeAt(0) !== brace.open) return undefined;
  try {
    return JSON.parse(bare) as JsonObject;
  } catch {
    return undefined;
  }
}

const space = 32;
const firstNotAscii = 128;
const byteOrderMark = 0xfeff;
/** Character codes that may stand outside strings: white space, separators, numbers, the letters of true, false and null. */
const plain = Uint8Array.from({ length: firstNotAscii }, (_, code) =>
  ' \t\r,:0123456789.+-eEtrufalsn'.includes(String.fromCharCode(code)) ? 1 : 0,
);

/**
 * How deep in objects and arrays a JSON text is after one more line.
 * @returns undefined when the line cannot stand in a JSON text; strings never span lines there
 */
function depthAfter(text: string, before: number): number | undefined {
  let depth = before;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) {
      at = endOfString(text, at);
      if (at === -1) return undefined;
    } else if (char === brace.open || char === bracket.open) depth++;
    else if (char === brace.close || char === bracket.close) {
      if (--depth < 0) return undefined;
    } else if (plain[char] !== 1 && char !== byteOrderMark) return undefined;
  }
  return depth;
}
