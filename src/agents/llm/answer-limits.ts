import { setImmediate } from 'node:timers/promises';
import { UpstreamFailure } from '../../base/outbound/upstream-failure.js';

export const maxAnswerBytes = 8_388_608;
/** Bounded, because the parser searches an unfinished line from its beginning again with each chunk. */
const maxLineBytes = 1_048_576;
/** More than enough: a chunk of an answer has two lines, and an answer has at most 16,384 tokens. */
const maxLines = 40_000;
/** Max characters of text and arguments of an answer together. */
const maxChars = 262_144;
const maxCalls = 128;
/** Bytes per turn of the event loop. Each chunk of the answer in them takes some 60 µs. */
const bytesAtOnce = 16_384;

/** Counts the characters and calls of a model's answer. */
export class AnswerSize {
  chars = 0;
  private calls = 0;

  /** @throws UpstreamFailure if the answer exceeds a limit */
  add(text: string, calls = 0): void {
    this.calls += calls;
    this.chars += text.length;
    check(this.calls, maxCalls, 'calls');
    check(this.chars, maxChars, 'characters of text and arguments');
  }
}

/** Passes bytes on without blocking the event loop. @throws UpstreamFailure if they exceed a limit */
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

function check(size: number, max: number, unit: string): void {
  if (size <= max) return;
  throw new UpstreamFailure('answer_too_large', `the model's answer is longer than ${max} ${unit}`);
}
