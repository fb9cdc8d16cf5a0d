import type { JsonObject } from '../../base/common/json.js';
import {
  brace,
  bracket,
  endOfString,
  excessOf,
  type JsonLimits,
  quote,
} from '../../base/common/json-size.js';

/** Receives the parsed output of a tool. */
export interface MessageSink {
  /** A JSON object; `text` is its source and `bytes` its length on the wire. */
  message(message: JsonObject, bytes: number, text: string): void;
  /** A line outside of any JSON object, or a summary of `lines` such lines with `bytes` in total. */
  unparsed(text: string, lines: number, bytes: number): void;
  /** A text that cannot be parsed, and why. @returns false if it answers no request, so that it is unparsed output */
  broken(text: string, why: string): boolean;
  /** An object exceeds `maxBytes`. */
  overflow(): void;
}

/** Lines that may become a JSON object. */
interface Candidate {
  /** Its text. All lines but the last `unjoined` ones are joined into blocks of several lines. */
  readonly blocks: string[];
  unjoined: number;
  /** Number of lines. */
  lines: number;
  bytes: number;
  depth: number;
}

/** Limits of a message, checked before it is parsed: 100,000 objects and lists take about 0.1 s to parse. */
const limits: JsonLimits = { levels: 128, structures: 100_000, values: Infinity };
/** Max length of messages that are not checked: they are within the limits, or cheap to parse anyway. */
const maxUnchecked = 2_000;
/** Max length at which messages over the limits are still parsed if they answer no request, such as notices. */
const maxDeepNotice = 65_536;

/** Maximum lines of a discarded candidate to report; the others are only counted. */
const shownLines = 20;
/** Lines joined into one string, because a separate string takes up to thirty times the bytes of a short line. */
const linesPerBlock = 1_024;

const notJson = 'is not JSON';

/**
 * Reads JSON objects from lines: one per line as the protocol requires, or pretty-printed over several lines, as shell
 * tools often answer. A line that cannot be part of a JSON text ends the object, so that a stray brace in unparsed
 * output does not swallow an answer. Each line is scanned a bounded number of times.
 */
export class MessageReader {
  private candidate: Candidate | undefined;

  constructor(
    private readonly maxBytes: number,
    private readonly sink: MessageSink,
  ) {}

  /** The beginning of an object that is not closed. */
  get unclosed(): string | undefined {
    return this.candidate?.blocks.slice(0, shownLines).join(' ');
  }

  /** Reads one line. @param bytes its length on the wire */
  line(text: string, bytes: number): void {
    if (this.candidate) return this.continueObject(this.candidate, text, bytes);
    const excess = excessIn(text);
    if (excess !== undefined) {
      if (this.sink.broken(text, excess)) return;
      if (bytes > maxDeepNotice) return this.sink.unparsed(text, 1, bytes);
    }
    const message = parseObject(text);
    if (message) return this.sink.message(message, bytes, text);
    this.beginObject(text, bytes);
  }

  /** Ends the input; an unfinished object becomes unparsed output. */
  end(): void {
    this.dropCandidate();
  }

  private beginObject(text: string, bytes: number): void {
    const depth = opensObject(text) ? depthAfter(text, 0) : undefined;
    if (depth === undefined || depth === 0) {
      if (!this.sink.broken(text, notJson)) this.sink.unparsed(text, 1, bytes);
      return;
    }
    this.candidate = { blocks: [text], unjoined: 1, lines: 1, bytes, depth };
  }

  private continueObject(candidate: Candidate, text: string, bytes: number): void {
    const depth = beginsAnew(text) ? undefined : depthAfter(text, candidate.depth);
    if (depth === undefined) {
      this.dropCandidate();
      return this.line(text, bytes);
    }
    const { blocks } = candidate;
    blocks.push(text);
    if (++candidate.unjoined >= linesPerBlock) {
      blocks.push(blocks.splice(-candidate.unjoined).join('\n'));
      candidate.unjoined = 0;
    }
    candidate.lines++;
    candidate.bytes += bytes + 1;
    candidate.depth = depth;
    if (candidate.bytes > this.maxBytes) this.overflow();
    else if (depth === 0) this.finishObject(candidate);
  }

  private finishObject(candidate: Candidate): void {
    const text = candidate.blocks.join('\n');
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

  /** Reports the lines of an unfinished or invalid object as a broken answer, or as unparsed output. */
  private dropCandidate(why = notJson): void {
    const { candidate } = this;
    if (!candidate) return;
    this.candidate = undefined;
    if (this.sink.broken(candidate.blocks.join('\n'), why)) return;
    // Each block has at least one line.
    const shown = candidate.blocks.slice(0, shownLines).join('\n').split('\n', shownLines);
    for (const line of shown) this.sink.unparsed(line, 1, line.length);
    const more = candidate.lines - shown.length;
    if (more > 0) this.sink.unparsed(`… and ${more} more lines of no JSON object`, more, candidate.bytes);
  }
}

/** @returns the limit that a long message exceeds, as text */
const excessIn = (text: string): string | undefined =>
  text.length > maxUnchecked ? excessOf(text, limits) : undefined;

/** Whether a line may be the first of an object over several lines. */
const opensObject = (text: string): boolean => /^\uFEFF?\s*\{\s*("|$)/.test(text);

/** Whether a line starts a protocol message, so that the object being read cannot be one. */
const beginsAnew = (text: string): boolean => text.startsWith('{') && text.includes('"jsonrpc"');

const space = 32;
const firstNotAscii = 128;
const byteOrderMark = 0xfeff;

/** Parses a JSON object, after a byte order mark or white space; undefined for any other text. */
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

/**
 * By character code, 1 for characters that JSON allows outside of strings: white space, separators, digits and the
 * letters of true, false and null.
 */
const isPlain = Uint8Array.from({ length: firstNotAscii }, (_, code) =>
  ' \t\r,:0123456789.+-eEtrufalsn'.includes(String.fromCharCode(code)) ? 1 : 0,
);

/** The nesting depth of a JSON text after one more line; undefined if the text is none. Strings never span lines. */
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
    } else if (isPlain[char] !== 1 && char !== byteOrderMark) return undefined;
  }
  return depth;
}
