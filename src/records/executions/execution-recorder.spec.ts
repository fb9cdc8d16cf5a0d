import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { TestJournal } from '../../../test/support/journal.js';
import { until } from '../../../test/support/wait.js';
import { ExecutionRecorder, type RecorderSettings } from './execution-recorder.js';
import type { ExecutionEnd, ExecutionStart } from './execution-record.js';

const start: ExecutionStart = { toolName: 't', userId: 'u', startedAt: 1, metadata: {} };
const end: ExecutionEnd = { status: 'success', executionTimeMs: 1 };

describe('ExecutionRecorder', () => {
  let journal: TestJournal;
  const open = (settings: Partial<RecorderSettings> = {}): ExecutionRecorder =>
    new ExecutionRecorder(journal, { maxBytes: 10_000, ...settings });
  const onDisk = (): string =>
    readdirSync(journal.folder)
      .map((name) => readFileSync(join(journal.folder, name), 'utf8'))
      .join('');

  beforeEach(() => (journal = new TestJournal()));
  afterEach(async () => {
    await journal.close(5_000);
    rmSync(journal.folder, { recursive: true, force: true });
  });

  it('has the start on the disk before it says so, and the end as well', async () => {
    const recorder = open();
    await recorder.begin('a', start);
    expect(onDisk()).toContain('{"id":"a","start":');
    await recorder.finish('a', end);
    expect(onDisk()).toContain('{"id":"a","end":');
    expect(journal.rows).toEqual([]);
    await recorder.flush();
    expect(journal.rows).toMatchObject([{ metricId: 'a', status: 'success' }]);
  });

  it('tells how much waits, and since when', async () => {
    const recorder = open();
    expect(recorder.state()).toEqual({
      depth: 0,
      oldestMs: 0,
      bytes: 0,
      takesMore: true,
      damagedLines: 0,
      lastWriteFailureAt: 0,
      full: false,
    });
    for (const id of ['a', 'b']) {
      await recorder.begin(id, start);
      await recorder.finish(id, end);
    }
    await until(() => recorder.state().oldestMs >= 5, { what: 'time to go by' });
    const { depth, bytes } = recorder.state();
    expect([depth, bytes > 100]).toEqual([2, true]);
    await recorder.flush();
    expect(recorder.state()).toMatchObject({ depth: 0, oldestMs: 0 });
  });

  it('leaves no record of a call that was refused after all', async () => {
    const recorder = open();
    await recorder.begin('a', start);
    recorder.discard('a');
    await recorder.flush();
    expect(journal.rows).toEqual([]);
  });

  it('refuses at its cap, naming the limit, until there is room', async () => {
    const recorder = open({ maxBytes: 1_000 });
    const refusal = expect.objectContaining({
      code: 'recorder_full',
      detail: expect.stringContaining('JOURNAL_MAX_BYTES'),
    });
    let calls = 0;
    for (; recorder.state().bytes < 1_000; calls++) {
      await recorder.begin(`${calls}`, start);
      await recorder.finish(`${calls}`, end);
    }
    await expect(recorder.begin('refused', start)).rejects.toThrow(refusal);
    await recorder.flush();
    await recorder.begin('last', start);
    await recorder.finish('last', end);
    await recorder.flush();
    const expected = [...Array.from({ length: calls }, (_, n) => `${n}`), 'last'];
    expect(journal.rows.map(({ metricId }) => metricId)).toEqual(expected);
  });

  it('refuses a call whose start cannot be written, and keeps the ends of those that run', async () => {
    const recorder = open();
    await recorder.begin('a', start);
    await journal.flush();
    rmSync(journal.folder, { recursive: true });
    await recorder.finish('a', end);
    const refusal = expect.objectContaining({
      code: 'recorder_full',
      detail: expect.stringContaining('JOURNAL_DIR'),
    });
    await expect(recorder.begin('b', start)).rejects.toThrow(refusal);
    expect(recorder.state().depth).toBe(1);
  });

  it('records what it can of an end that is no JSON', async () => {
    const recorder = open();
    await recorder.begin('a', start);
    await recorder.finish('a', { ...end, metadata: { big: 10n } });
    await recorder.flush();
    expect(journal.rows).toMatchObject([
      { status: 'success', metadata: { unrecordable: expect.any(String) } },
    ]);
  });

  it('waits at its close for what is in flight', async () => {
    const recorder = open();
    await recorder.begin('a', start);
    const closed = recorder.close();
    await recorder.finish('a', end);
    await closed;
    expect(journal.rows).toHaveLength(1);
    journal = new TestJournal();
  });
});
