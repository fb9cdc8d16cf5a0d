import { call, PoolLab } from '../../../test/fixtures/tools/pool-lab.js';
import { Gate } from '../../../test/fixtures/tools/gate.js';
import type { ToolNotice } from '../../base/common/tool-notice.js';
import { readNotice } from './own-dialect.js';

describe('readNotice', () => {
  it.each([
    [{ progress: 1 }, { type: 'progress', progress: 1 }],
    [
      { progress: 0.5, total: 2, message: 'half' },
      { type: 'progress', progress: 0.5, total: 2, message: 'half' },
    ],
    [
      { progress: 1, total: '2', message: 3 },
      { type: 'progress', progress: 1 },
    ],
  ])('reads progress: %j', (params, notice) => {
    expect(readNotice('progress', params)).toEqual({ notice });
  });

  it.each([
    ['debug', 'debug'],
    ['warn', 'warn'],
    ['warning', 'warn'],
    ['notice', 'info'],
    ['critical', 'error'],
    ['constructor', 'info'],
    ['loud', 'info'],
    [undefined, 'info'],
    [7, 'info'],
  ])('reads a log of level %j as %s', (level, expected) => {
    const notice = { type: 'log', level: expected, message: 'm', data: null };
    expect(readNotice('log', { level, message: 'm', data: null })).toEqual({ notice });
  });

  it('reads which call it is about, the id before the execution', () => {
    const notice = { type: 'progress', progress: 1 };
    expect(readNotice('progress', { progress: 1, id: '7' })).toEqual({ notice, id: '7' });
    expect(readNotice('progress', { progress: 1, id: 7 })).toEqual({ notice, id: '7' });
    expect(readNotice('progress', { progress: 1, executionId: 'e' })).toEqual({ notice, executionId: 'e' });
    expect(readNotice('progress', { progress: 1, id: '7', executionId: 'e' })).toEqual({ notice, id: '7' });
  });

  it('cuts a long message', () => {
    const said = readNotice('log', { message: 'x'.repeat(10_000) });
    expect(said).toMatchObject({ notice: { message: 'x'.repeat(4_096) } });
  });

  it('leaves data out that are nested deeper than they could be written', () => {
    const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
    const notice = { type: 'log', level: 'info', message: 'm' };
    expect(readNotice('log', { message: 'm', data: nested(64) })).toEqual({
      notice: { ...notice, data: nested(64) },
    });
    expect(readNotice('log', { message: 'm', data: nested(50_000) })).toEqual({ notice });
  });

  it.each([
    ['progress', undefined],
    ['progress', []],
    ['progress', { progress: '1' }],
    ['log', { level: 'info' }],
    ['log', null],
  ])('calls %s %j malformed', (method, params) => {
    expect(readNotice(method, params)).toBe('malformed');
  });

  it.each([['sample'], [undefined], [7], ['toString']])('does not know the method %j', (method) => {
    expect(readNotice(method, { progress: 1 })).toBe('unknown');
  });
});

describe('notices of a running call', () => {
  let lab: PoolLab;
  let gate: Gate;

  beforeEach(() => {
    lab = new PoolLab();
    gate = new Gate();
  });
  afterEach(async () => {
    await lab.close();
    gate.close();
  });

  const progress = (params: object) => ({ method: 'progress', params });
  const follow = () => {
    const notices: ToolNotice[] = [];
    return { notices, onNotice: (notice: ToolNotice) => void notices.push(notice) };
  };

  it('reach who follows it, named by id, by execution, or not at all, in their order', async () => {
    const { notices, onNotice } = follow();
    const messages = [
      progress({ id: '$ID', progress: 1, total: 3 }),
      progress({ executionId: '$EXECUTION', progress: 2 }),
      progress({ progress: 3, message: 'done' }),
      { method: 'log', params: { level: 'warn', message: 'careful', data: { n: 1 }, id: '$ID' } },
    ];
    const pool = lab.pool();
    await call(pool, { action: 'say', messages }, { executionId: 'ex-1', onNotice });
    expect(notices).toEqual([
      { type: 'progress', progress: 1, total: 3 },
      { type: 'progress', progress: 2 },
      { type: 'progress', progress: 3, message: 'done' },
      { type: 'log', level: 'warn', message: 'careful', data: { n: 1 } },
    ]);
    expect(lab.of('log')).toMatchObject([{ executionId: 'ex-1', notice: { message: 'careful' } }]);
    expect(lab.of('unparsed')).toEqual([]);
  });

  it('harm nobody where nobody follows; those about other calls and of other methods are dropped', async () => {
    const { notices, onNotice } = follow();
    const messages = [
      progress({ id: '999', progress: 1 }),
      progress({ executionId: 'another', progress: 1 }),
      { method: 'window/showMessage', params: {} },
      { id: 'q1', method: 'sampling', params: {} },
    ];
    const pool = lab.pool();
    expect((await call(pool, { action: 'say', messages }, { onNotice })).reply).toEqual({ result: 'said' });
    expect((await call(pool, { action: 'say', messages: [progress({ progress: 1 })] })).reply).toEqual({
      result: 'said',
    });
    expect(notices).toEqual([]);
    expect(lab.of('unparsed')).toEqual([]);
  });

  it('count as stray lines when they are malformed', async () => {
    const messages = [progress({ progress: 'much' }), { method: 'log', params: [] }];
    await call(lab.pool(), { action: 'say', messages });
    expect(lab.of('unparsed').map(({ line }) => line)).toEqual([
      '{"jsonrpc":"2.0","method":"progress","params":{"progress":"much"}}',
      '{"jsonrpc":"2.0","method":"log","params":[]}',
    ]);
  });

  it('go to the call they name where several share a process; to none when they name none', async () => {
    const pool = lab.pool({ maxConcurrency: 2 });
    const [other, mine] = [follow(), follow()];
    const running = call(pool, gate.input('a'), { executionId: 'other', onNotice: other.onNotice });
    await gate.running('a');
    const messages = [
      progress({ id: '$ID', progress: 1 }),
      progress({ executionId: 'other', progress: 2 }),
      progress({ progress: 3 }),
    ];
    await call(pool, { action: 'say', messages }, { executionId: 'mine', onNotice: mine.onNotice });
    await gate.open('a');
    await running;
    expect(mine.notices).toEqual([{ type: 'progress', progress: 1 }]);
    expect(other.notices).toEqual([{ type: 'progress', progress: 2 }]);
  });
});

describe('stray lines', () => {
  let lab: PoolLab;

  beforeEach(() => {
    lab = new PoolLab();
  });
  afterEach(() => lab.close());

  it('of the process stand in the notes of a call that fails: how many, and the last few, cut', async () => {
    const pool = lab.pool();
    await call(pool, { action: 'noise', lines: 7 });
    await call(pool, {
      action: 'raw',
      text: `${'y'.repeat(2_000)}\n{"jsonrpc":"2.0","id":"$ID","result":1}\n`,
    });
    await expect(call(pool, { action: 'crash' })).rejects.toMatchObject({
      notes: {
        exitCode: 3,
        strayLines: {
          count: 8,
          last: ['chatter 3', 'chatter 4', 'chatter 5', 'chatter 6', 'y'.repeat(500)],
        },
      },
    });
  });

  it('stand in the notes of one that timed out, and not where there were none', async () => {
    const pool = lab.pool();
    await call(pool, { action: 'noise' });
    const timedOut = call(pool, { action: 'hang' }, { timeoutMs: 100 });
    await expect(timedOut).rejects.toMatchObject({
      notes: { strayLines: { count: 1, last: ['chatter 0'] } },
    });
    const crashed = await call(pool, { action: 'crash' }).catch((error: unknown) => error);
    expect(crashed).toMatchObject({ reason: 'tool_crashed' });
    expect(crashed).not.toHaveProperty('notes.strayLines');
  });
});
