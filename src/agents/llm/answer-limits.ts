import { setImmediate } from 'node:timers/promises';
import { UpstreamFailure } from '../../base/outbound/upstream-failure.js';

/** Max bytes of a model's answer, as the endpoint sends it. */
export const maxAnswerBytes = 8_388_608;
/** Bounded, because the parser searches an unfinished line from its beginning again with each chunk. */
const maxLineBytes = 1_048_576;
/** Max tokens that a model is asked for. */
export const maxAnswerTokens = 16_384;
/** Max lines: more than two for the chunk of each token. */
const maxLines = 40_000;
/** Max characters of text and arguments of an answer together. */
const maxChars = 262_144;
/** Max calls of tools in an answer. */
const maxCalls = 128;
/** Bytes per turn of the event loop: the chunks of the answer in them take some 60 µs each to process. */
const bytesAtOnce = 16_384;
const lineFeed = 0x0a;

/** Counts the characters and calls of a model's answer. */
export class AnswerSize {
  /** Characters of text and arguments so far. */
  chars = 0;
  private calls = 0;

  /** Counts a piece of the answer. @param calls number of calls that it begins @throws UpstreamFailure above a limit */
  add(text: string, calls = 0): void {
    this.calls += calls;
    this.chars += text.length;
    check(this.calls, maxCalls, 'calls');
    check(this.chars, maxChars, 'characters of text and arguments');
  }
}

/** Passes bytes on without blocking the event loop. @throws UpstreamFailure if they exceed a limit */
export async function* boundedAnswer(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let totalBytes = 0;
  /** Bytes of the unfinished line. */
  let lineBytes = 0;
  let lines = 0;
  for await (const bytes of stream) {
    totalBytes += bytes.length;
    lineBytes += bytes.length;
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, end + 1)) {
      lines += 1;
      lineBytes = bytes.length - end - 1;
    }
    check(totalBytes, maxAnswerBytes, 'bytes');
    check(lineBytes, maxLineBytes, 'bytes in one line');
    check(lines, maxLines, 'lines');
    for (let at = 0; at < bytes.length; at += bytesAtOnce) {
      yield bytes.subarray(at, at + bytesAtOnce);
      await setImmediate();
    }
  }
}

/** @throws UpstreamFailure if a size exceeds its limit */
function check(size: number, max: number, unit: string): void {
  if (size <= max) return;
  throw new UpstreamFailure('answer_too_large', `the model's answer is longer than ${max} ${unit}`);
}
