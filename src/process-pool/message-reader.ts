import type { LineSink } from './line-framer.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Where the objects of a tool's output go. */
export interface MessageSink {
  /** A JSON object; `bytes` is its length on the wire. */
  message(message: JsonObject, bytes: number): void;
  /** A line that belongs to no JSON object. */
  noise(line: string): void;
  /** A line or an object is longer than the cap. */
  overflow(): void;
}

interface Candidate {
  readonly lines: string[];
  bytes: number;
  depth: number;
}

/**
 * Reads JSON objects from lines: one a line as the protocol says, or one pretty-printed over several lines, as shell
 * tools tend to answer. A line that cannot be part of a JSON text ends such an object, so that a stray brace in a
 * tool's chatter swallows no answer.
 */
export class MessageReader implements LineSink {
  private candidate: Candidate | undefined;

  constructor(
    private readonly maxBytes: number,
    private readonly sink: MessageSink,
  ) {}

  line(text: string, bytes: number): void {
    if (this.candidate) return this.resume(this.candidate, text, bytes);
    const message = parseObject(text);
    if (message) return this.sink.message(message, bytes);
    this.open(text, bytes);
  }

  overflow(): void {
    this.candidate = undefined;
    this.sink.overflow();
  }

  /** The output ended; an unfinished object is noise. */
  end(): void {
    this.dropCandidate();
  }

  private open(text: string, bytes: number): void {
    const depth = opensObject(text) ? depthAfter(text, 0) : undefined;
    if (depth !== undefined && depth > 0) this.candidate = { lines: [text], bytes, depth };
    else this.noise(text);
  }

  private resume(candidate: Candidate, text: string, bytes: number): void {
    const depth = beginsAnew(text) ? undefined : depthAfter(text, candidate.depth);
    if (depth === undefined) {
      this.dropCandidate();
      return this.line(text, bytes);
    }
    candidate.lines.push(text);
    candidate.bytes += bytes + 1;
    candidate.depth = depth;
    if (candidate.bytes > this.maxBytes) return this.overflow();
    if (depth === 0) this.close(candidate);
  }

  private close(candidate: Candidate): void {
    const message = parseObject(candidate.lines.join('\n'));
    if (!message) return this.dropCandidate();
    this.candidate = undefined;
    this.sink.message(message, candidate.bytes);
  }

  private dropCandidate(): void {
    const lines = this.candidate?.lines ?? [];
    this.candidate = undefined;
    for (const line of lines) this.noise(line);
  }

  private noise(text: string): void {
    const line = text.trimEnd();
    if (line !== '') this.sink.noise(line);
  }
}

const opensObject = (text: string): boolean => /^\uFEFF?\s*\{\s*("|$)/.test(text);

/** A protocol message at the line's very beginning: what was being read can only have been noise. */
const beginsAnew = (text: string): boolean => text.startsWith('{') && text.includes('"jsonrpc"');

function parseObject(text: string): JsonObject | undefined {
  const first = text.charCodeAt(0);
  const bare = first === brace.open ? text : text.replace(/^\uFEFF/, '').trimStart();
  if (bare.charCodeAt(0) !== brace.open) return undefined;
  try {
    return JSON.parse(bare) as JsonObject;
  } catch {
    return undefined;
  }
}

const brace = { open: 123, close: 125 };
const bracket = { open: 91, close: 93 };
const quote = 34;
const backslash = 92;
/** What may stand outside strings: white space, separators, numbers and the letters of true, false and null. */
const plain = new Set([...' \t\r,:0123456789.+-eEtrufalsn\uFEFF'].map((char) => char.charCodeAt(0)));

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
    } else if (!plain.has(char)) return undefined;
  }
  return depth;
}

/** Index of the quote that closes the string opened at `from`, or -1. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) return at;
    if (char === backslash) at++;
  }
  return -1;
}
