import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../../test/support/wait.js';
import { PacedStream } from './paced-stream.js';

/** A reader of a stream that takes one byte at a time, which is one unit. */
function reader(source = new PassThrough()) {
  const seen: string[] = [];
  const stream = new PacedStream(source, (chunk) => {
    let taken = 0;
    while (taken < chunk.length) {
      seen.push(chunk.toString('latin1', taken, ++taken));
      stream.spend(1);
      if (stream.isBehind) break;
    }
    return taken;
  });
  return { source, stream, text: () => seen.join('') };
}

const letters = (count: number): string =>
  Array.from({ length: count }, (_, n) => String.fromCharCode(97 + (n % 26))).join('');

describe('a stream that is read in portions', () => {
  it('gives all in its order, and no more than a portion in one turn', async () => {
    const { source, text } = reader();
    const whole = letters(3_000);
    for (let at = 0; at < whole.length; at += 700) source.write(whole.slice(at, at + 700));
    let most = 0;
    for (let before = 0; text().length < whole.length; before = text().length) {
      await nextTurn();
      most = Math.max(most, text().length - before);
    }
    expect(text()).toBe(whole);
    // The first look sees the portion before it, too.
    expect(most).toBeLessThanOrEqual(2 * 128);
    expect(most).toBeGreaterThan(50);
  });

  it('is not read while it pauses: whoever writes has to wait', async () => {
    const { source, stream, text } = reader();
    stream.pause(60_000);
    while (source.write('x'.repeat(10_000)));
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(text()).toBe('');
    expect(source.isPaused()).toBe(true);
    stream.hurry();
    await until(() => text().length > 10_000, { what: 'more than a write' });
    stream.close();
  });

  it('keeps what comes all the same, in its order', async () => {
    const { source, stream, text } = reader();
    const whole = letters(2_000);
    stream.pause(30);
    for (let at = 0; at < whole.length; at += 100) {
      source.write(whole.slice(at, at + 100));
      // As Node does with the output of a child process that has ended.
      source.resume();
      await nextTurn();
    }
    await until(() => text().length === whole.length, { what: 'all of it' });
    expect(text()).toBe(whole);
  });

  it('goes on by itself when the pause is over', async () => {
    const { source, stream, text } = reader();
    source.write('a');
    await until(() => text() === 'a', { what: 'the first byte' });
    const from = performance.now();
    stream.pause(50);
    source.write('b');
    await until(() => text() === 'ab', { what: 'the second byte' });
    expect(performance.now() - from).toBeGreaterThanOrEqual(49);
  });

  it('gives nothing when it was closed, of what it kept neither', async () => {
    const { source, stream, text } = reader();
    source.write(letters(1_000));
    await until(() => text() !== '', { what: 'the first portion' });
    const before = text();
    stream.close();
    expect(stream.isBehind).toBe(false);
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(text()).toBe(before);
  });
});
