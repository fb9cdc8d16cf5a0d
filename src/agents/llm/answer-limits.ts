import { setImmediate } from 'node:timers/promises';
import { UpstreamFailure } from '../../base/outbound/upstream-failure.js';

export const maxAnswerBytes = 8_388_608;
/** A line without an end is searched from its beginning with each piece of it. */
const maxLineBytes = 1_048_576;
/** A part has two lines, and a model is asked for 16,384 tokens at most. */
const maxLines = 40_000;
/** Text and arguments of one answer together, and its calls. */
const [maxChars, maxCalls] = [262_144, 128];
/** Bytes between two turns of the event loop: each part in them costs its reader some 60 µs. */
const bytesAtOnce = 16_384;

/** Counts what a model says. */
export class AnswerSize {
  chars = 0;
  private calls = 0;

  /** @throws UpstreamFailure once it is too much */
  add(text: string, calls = 0): void {
    check((this.calls += calls), maxCalls, 'calls');
    check((this.chars += text.length), maxChars, 'characters of text and arguments');
  }
}

/** The same bytes, without holding up the event loop. @throws UpstreamFailure once they are too many */
export async function* boundedAnswer(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let [size, line, lines] = [0, 0, 0];
  for await (const bytes of stream) {
    size += bytes.length;
    line += bytes.length;
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, end + 1)) {
      lines += 1;
      line = bytes.length - end - 1;
    }
    check(size, maxAnswerBytes, 'bytes');
    check(line, maxLineBytes, 'bytes in one line');
    check(lines, maxLines, 'lines');
    for (let at = 0; at < bytes.length; at += bytesAtOnce) {
      yield bytes.subarray(at, at + bytesAtOnce);
      await setImmediate();
    }
  }
}

function check(size: number, most: number, of: string): void {
  if (size <= most) return;
  throw new UpstreamFailure('answer_too_large', `the model's answer is longer than ${most} ${of}`);
}
