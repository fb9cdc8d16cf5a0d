import type { LogNotice } from '../../../base/common/tool-notice.js';
import type { PoolEvent } from '../../process-pool/pool.types.js';
import { Redactor } from '../../secrets/redactor.js';
import { LineBudget } from '../../process-pool/line-framer.js';
import { EventRing } from '../../../base/streams/event-ring.js';
import { PoolOutput } from './pool-output.js';
import type { LogEntry } from './tool-logs.js';

const setUp = (perSecond = 1_000, now = () => 0) => {
  const ring = new EventRing<LogEntry>({ maxEntries: 100, maxBytes: 1_000_000 });
  const book = { tool: 't', replica: 'r', ring, budget: new LineBudget(perSecond, now), maxLineBytes: 200 };
  const output = new PoolOutput(book, new Redactor({ TOKEN: 's3cret-value' }));
  const say = (notice: Partial<LogNotice>, executionId?: string): void =>
    output.on({
      type: 'log',
      pool: 't',
      pid: 7,
      notice: { type: 'log', level: 'info', message: 'm', ...notice },
      executionId,
    });
  const stderr = (line: string, more: { cut?: boolean; skippedBytes?: number; pid?: number } = {}): void =>
    output.on({ type: 'stderr', pool: 't', pid: 7, line, cut: false, skippedBytes: 0, ...more });
  const terminate = { type: 'terminate', pool: 't', pid: 7, reason: 'exit' } as PoolEvent;
  return { say, stderr, end: () => output.on(terminate), entries: () => ring.slice(100).entries };
};

describe('a log notification', () => {
  it('is an entry of its own level, about its call', () => {
    const { say, entries } = setUp();
    say({ level: 'warn', message: 'page 2 is empty', data: { page: 2 } }, 'e1');
    say({ level: 'debug', data: null });
    expect(entries()).toMatchObject([
      { tool: 't', event: 'log', level: 'warn', pid: 7, message: 'page 2 is empty', data: { page: 2 } },
      { level: 'debug', message: 'm', data: null },
    ]);
    expect(entries()[0]).toMatchObject({ executionId: 'e1' });
    expect(entries()[1]).not.toHaveProperty('executionId');
    expect(entries()[1]).not.toHaveProperty('truncated');
  });

  it('shows no secret, nor a part of one where its message was cut off', () => {
    const { say, entries } = setUp();
    say({ message: 'with s3cret-value', data: ['s3cret-value', { a: 'x s3cret-value' }] });
    say({ message: `${'x'.repeat(4_096 - 8)}s3cret-v` });
    expect(entries()[0]).toMatchObject({
      message: 'with [secret TOKEN]',
      data: ['[secret TOKEN]', { a: 'x [secret TOKEN]' }],
    });
    expect(JSON.stringify(entries())).not.toContain('s3cr');
  });

  it('is kept as far as a line is: the message in whole characters, data not at all', () => {
    const { say, entries } = setUp();
    say({ message: `${'x'.repeat(199)}ü${'y'.repeat(50)}` });
    say({ data: 'd'.repeat(199) });
    expect(entries()).toMatchObject([
      { message: 'x'.repeat(199), truncated: true },
      { message: 'm', truncated: true },
    ]);
    expect(entries()[1]).not.toHaveProperty('data');
  });

  it('is left out beyond so many a second, and the log says how many were', () => {
    let now = 0;
    const { say, end, entries } = setUp(10, () => now);
    for (let n = 0; n < 25; n++) say({ message: String(n) });
    expect(entries()).toHaveLength(10);
    now += 1_000;
    say({ message: 'again' });
    expect(entries().slice(10)).toMatchObject([
      {
        event: 'error',
        level: 'warn',
        message: expect.stringMatching(
          /^15 log notifications were skipped: the tool writes more lines per second than are logged/,
        ),
      },
      { event: 'log', message: 'again' },
    ]);
    for (let n = 0; n < 12; n++) say({});
    end();
    expect(entries().at(-1)?.message).toMatch(/^3 log notifications were skipped/);
  });
});

describe('a line on stderr', () => {
  it('is an entry, as far as a line is kept', () => {
    const { stderr, entries } = setUp();
    stderr('3 lines had no time');
    stderr('x'.repeat(201));
    stderr('the beginning of s3cret-va', { cut: true });
    expect(entries()).toMatchObject([
      { event: 'stderr', level: 'info', pid: 7, message: '3 lines had no time' },
      { message: 'x'.repeat(200), truncated: true },
      { message: expect.not.stringContaining('s3cret'), truncated: true },
    ]);
    expect(entries()[0]).not.toHaveProperty('truncated');
  });

  it('is counted in bytes beyond so many a second, as is what was not even read', () => {
    let now = 0;
    const { stderr, end, entries } = setUp(2, () => now);
    for (const line of ['a', 'b', 'over']) stderr(line);
    stderr('', { skippedBytes: 1_000 });
    now += 1_000;
    stderr('again');
    expect(entries().slice(2)).toMatchObject([
      { event: 'error', pid: 7, message: expect.stringMatching(/^1004 bytes of stderr were skipped/) },
      { event: 'stderr', message: 'again' },
    ]);
    stderr('', { skippedBytes: 7 });
    end();
    expect(entries().at(-1)?.message).toMatch(/^7 bytes of stderr were skipped/);
    stderr('', { skippedBytes: 1 });
    stderr('', { skippedBytes: 2, pid: 8 });
    end();
    expect(entries().at(-1)?.message).toMatch(/^3 bytes of stderr were skipped/);
    expect(entries().at(-1)).not.toHaveProperty('pid');
  });
});
