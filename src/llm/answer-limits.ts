import { setImmediate } from 'node:timers/promises';
import { UpstreamFailure } from '../outbound/upstream-failure.js';

/** Bytes of one answer. */
export const maxAnswerBytes = 8_388_608;
/** A line without an end is searched from its beginning with each piece. */
const maxLineBytes = 1_048_576;
/** A part has two lines, and a model is asked for 16,384 tokens at most. */
const maxLines = 40_000;
/** Bytes between two turns of the event loop: each of their parts costs its reader some 60 µs. */
const bytesAtOnce = 16_384;
/** Text and arguments of one answer together, and its calls. */
const [maxChars, maxCalls] = [262_144, 128];

const newLine = 0x0a;

const tooLong = (most: string): UpstreamFailure =>
  new UpstreamFailure('answer_too_large', `the model's answer is longer than ${most}`);

/** Counts what a model says. Each method throws UpstreamFailure once it is too much. */
export class AnswerSize {
  /** Characters so far. */
  chars = 0;
  private calls = 0;

  add(text: string): void {
    this.chars += text.length;
    if (this.chars > maxChars) throw tooLong(`${maxChars} characters of text and arguments`);
  }

  addCall(name: string): void {
    this.calls += 1;
    if (this.calls > maxCalls) throw tooLong(`${maxCalls} calls`);
    this.add(name);
  }
}

/** The same bytes, without holding up the event loop. @throws UpstreamFailure once they, or one line of them, are too many */
export async function* boundedAnswer(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let [size, line, lines] = [0, 0, 0];
  for await (const bytes of stream) {
    const end = bytes.lastIndexOf(newLine);
    size += bytes.length;
    line = end < 0 ? line + bytes.length : bytes.length - end - 1;
    for (let at = bytes.indexOf(newLine); at >= 0; at = bytes.indexOf(newLine, at + 1)) lines += 1;
    if (lines > maxLines) throw tooLong(`${maxLines} lines`);
    if (size > maxAnswerBytes) throw tooLong(`${maxAnswerBytes} bytes`);
    if (line > maxLineBytes) throw tooLong(`${maxLineBytes} bytes in one line`);
    for (let at = 0; at < bytes.length; at += bytesAtOnce) {
      yield bytes.subarray(at, at + bytesAtOnce);
      await setImmediate();
    }
  }
}
