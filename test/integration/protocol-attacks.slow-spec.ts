import type { ToolNotice } from '../../src/base/common/tool-notice.js';
import type { PoolFailure } from '../../src/runtime/process-pool/pool.types.js';
import type { ProcessPool } from '../../src/runtime/process-pool/process-pool.js';
import { Gate } from '../fixtures/tools/gate.js';
import { call, eventually, PoolLab, result } from '../fixtures/tools/pool-lab.js';

// real: processes; mock: nothing

/** What a tool may write instead of its answer, or before it. $ID: of its own call, $OTHER: of another process's. */
const mine = '{"jsonrpc":"2.0","id":"$ID","result":"mine"}\n';
const forged = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":"forged"}\n`;
const error = (id: string): string => `{"jsonrpc":"2.0","id":${id},"error":{"code":-1,"message":"forged"}}\n`;
const notice = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","method":"${method}","params":${params}}\n`;
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const guesses = (count: number): string =>
  Array.from({ length: count }, () => forged(`"${Math.floor(Math.random() * 2 ** 30)}"`)).join('');

/** What is no answer, whatever it looks like: the true one comes after it. */
const beforeItsAnswer: readonly (readonly [what: string, latin1: string])[] = [
  ['NUL bytes', '\0\0\0\n\0{"jsonrpc":"2.0"}\n'],
  ['bytes that are no UTF-8', '\xff\xfe\xc0\xaf\xed\xa0\x80{"jsonrpc":"2.0"}\n'],
  ['UTF-16', '\xff\xfe{\0"\0i\0d\0"\0:\x001\0}\0\n\0\n'],
  ['a byte order mark alone', '\xef\xbb\xbf\n'],
  ['form feeds and other control characters', '\f\v\b\x1b[2J\x7f\n'],
  ['empty lines', '\n'.repeat(500)],
  ['an answer within a text', `${JSON.stringify(forged('"$ID"'))}\n`],
  ['an object of many lines that never ends', `{\n${'1\n'.repeat(2_000)}`],
  ['an object that closes more than it opened', '{\n"a": 1\n}}\n'],
  ['deep nesting', `${deep(100_000)}\n{"jsonrpc":"2.0","id":"1","result":${deep(100_000)}}\n`],
  ['deep nesting that never ends', `{"a":${'['.repeat(100_000)}\n`],
  ['numbers out of range', '{"jsonrpc":"2.0","id":1e400,"result":-1e400}\n'],
  [
    'members named like those of every object',
    '{"__proto__":{"jsonrpc":"2.0","id":"$ID","result":"forged"}}\n',
  ],
  [
    'ids named like members of every object',
    ['__proto__', 'constructor', 'toString'].map((id) => forged(`"${id}"`)).join(''),
  ],
  ["the id of another process's call", forged('"$OTHER"') + forged('$OTHER') + error('"$OTHER"')],
  [
    'ids that look like its own',
    ['"$ID "', '" $ID"', '"0$ID"', '"+$ID"', '"$ID.0"', '"$ID\\u0000"'].map(forged).join(''),
  ],
  [
    'ids of other types',
    ['null', 'true', '""', '[]', '["$ID"]', '{"id":"$ID"}', '-1', '0.5'].map(forged).join(''),
  ],
  ['an id of 100 KB', forged(`"${'9'.repeat(100_000)}"`) + forged('9'.repeat(100_000))],
  ['the id of initialize', forged('"0"') + error('"0"')],
  ['ids by guess', guesses(2_000)],
  ['errors for nobody while two calls are open', error('null') + error('""')],
  ['requests of its own', '{"jsonrpc":"2.0","id":"$ID","method":"execute","params":{}}\n'],
  [
    'other versions of the protocol',
    '{"jsonrpc":"1.0","id":"$OTHER","result":"forged"}\n{"id":"$OTHER","result":1}\n',
  ],
  [
    "notices about another process's call",
    (
      notice('progress', '{"id":"$OTHER","progress":1}') +
      notice('log', '{"executionId":"other","message":"m"}')
    ).repeat(200),
  ],
  [
    'malformed notices',
    ['null', '[]', '{}', '{"progress":"1"}', '{"message":{}}', `{"message":"m","data":${deep(10_000)}}`]
      .map((params) => notice('progress', params) + notice('log', params))
      .join(''),
  ],
  ['what only we say', notice('cancel', '{"id":"$OTHER"}') + notice('shutdown', '{}')],
];

/** What answers its own call, in its own way. */
const answers: readonly (readonly [what: string, latin1: string, reply: unknown])[] = [
  ['after a byte order mark', `\xef\xbb\xbf${mine}`, { result: 'mine' }],
  ['with CRLF', mine.replace('\n', '\r\n'), { result: 'mine' }],
  ['twice, the first counts', mine + forged('"$ID"') + error('"$ID"'), { result: 'mine' }],
  [
    'and goes on writing',
    mine + `chatter\n${notice('progress', '{"progress":1}')}`.repeat(300),
    { result: 'mine' },
  ],
  ['with its id said twice', '{"jsonrpc":"2.0","id":"1","result":"mine","id":"$ID"}\n', { result: 'mine' }],
  ['with invalid UTF-8', '{"jsonrpc":"2.0","id":"$ID","result":"\xff"}\n', { result: '\uFFFD' }],
  ['with a number out of range', '{"jsonrpc":"2.0","id":"$ID","result":1e400}\n', { result: Infinity }],
  [
    'with a result and an error',
    error('"$ID"').replace(',"error"', ',"result":1,"error"'),
    { error: { code: -1, message: 'forged' } },
  ],
];

/** What ends the call, and the process with it. */
const failures: readonly (readonly [
  what: string,
  latin1: string,
  reason: string,
  then: 'exit' | 'stop' | undefined,
])[] = [
  // A text with the id of an open request that cannot be read: no other answer is waited for.
  ['a raw NUL within a text', '{"jsonrpc":"2.0","id":"$ID","result":"\0"}\n', 'protocol_error', undefined],
  [
    'carriage returns for line ends',
    `${forged('"$OTHER"').trim()}\r${forged('"$ID"').trim()}\r\n`,
    'protocol_error',
    undefined,
  ],
  ['two objects on a line', forged('"$ID"').trim() + forged('"$ID"'), 'protocol_error', undefined],
  ['a batch', `[${forged('"$ID"').trim()}]\n`, 'protocol_error', undefined],
  [
    'twenty objects that never end',
    '{"jsonrpc":"2.0","id":"$ID","result":[\n'.repeat(20),
    'protocol_error',
    undefined,
  ],
  ['a line over the cap', 'x'.repeat(1_100_000), 'output_too_large', undefined],
  [
    'an object over the cap, line by line',
    `{\n${'"a": 1,\n'.repeat(140_000)}`,
    'output_too_large',
    undefined,
  ],
  ['an error whose code is no integer', error('"$ID"').replace('-1', '1e400'), 'protocol_error', undefined],
  ['an answer with neither result nor error', '{"jsonrpc":"2.0","id":"$ID"}\n', 'protocol_error', undefined],
  ['half a line and the end', mine.slice(0, -15), 'tool_crashed', 'exit'],
  ['half a line and SIGSTOP', mine.slice(0, -15), 'timeout', 'stop'],
];

describe('a tool that attacks the protocol', () => {
  const lab = new PoolLab();
  const gate = new Gate();
  let attacker: ProcessPool;
  let honest: ProcessPool;
  let turn = 0;

  beforeAll(async () => {
    attacker = lab.pool({ name: 'attacker', maxConcurrency: 2, maxQueue: 30 });
    honest = lab.pool({ name: 'honest' });
    await Promise.all([result(attacker, {}), result(honest, {})]);
  });
  afterAll(async () => {
    await lab.close();
    gate.close();
  });

  /** Attacks while two honest calls are open, one of them on the attacking process itself. */
  async function attack(latin1: string, then?: string, timeoutMs = 10_000): Promise<unknown> {
    const [far, near] = [`far ${++turn}`, `near ${turn}`];
    const notices: ToolNotice[] = [];
    const other = call(honest, gate.input(far), {
      executionId: 'other',
      onNotice: (each) => notices.push(each),
    });
    const beside = call(attacker, gate.input(near)).catch((failure: PoolFailure) => failure.reason);
    await Promise.all([gate.running(far), gate.running(near)]);
    const text = latin1.replaceAll('$OTHER', gate.idOf(far) ?? '');
    const input = { action: 'bytes', base64: Buffer.from(text, 'latin1').toString('base64'), then };
    const outcome = await call(attacker, input, { timeoutMs }).then(
      ({ reply }) => reply,
      (failure: PoolFailure) => failure.reason,
    );
    await gate.open(far);
    expect((await other).reply).toMatchObject({ result: { key: far } });
    expect(notices).toEqual([]);
    // What ends the process ends its other call as well; else that one gets its own answer, be it the last one.
    if (outcome === 'tool_crashed' || outcome === 'output_too_large') expect(await beside).toBe(outcome);
    else if (outcome !== 'timeout') {
      await gate.open(near);
      expect(await beside).toMatchObject({ reply: { result: { key: near } } });
    }
    return outcome;
  }

  it.each(beforeItsAnswer)('is answered by its own answer alone: %s', async (_what, latin1) => {
    expect(await attack(latin1 + mine)).toEqual({ result: 'mine' });
    expect(({} as Record<string, unknown>)['jsonrpc']).toBeUndefined();
    expect(lab.of('spawn').filter(({ pool }) => pool === 'attacker')).toHaveLength(1);
  });

  it.each(answers)('answers %s', async (_what, latin1, reply) => {
    expect(await attack(latin1)).toEqual(reply);
    // Nothing of it is left for the next call.
    expect(await result(attacker, { next: 1 })).toEqual({ next: 1 });
  });

  it('may answer what it was not asked yet: the next calls get their own answers', async () => {
    expect(await attack(guesses(3_000) + mine + guesses(3_000))).toEqual({ result: 'mine' });
    const next = Array.from({ length: 20 }, (_, n) => result(attacker, { n }));
    expect(await Promise.all(next)).toEqual(next.map((_, n) => ({ n })));
  });

  it.each(failures)('fails with %s', async (_what, latin1, reason, then) => {
    expect(await attack(latin1, then, reason === 'timeout' ? 500 : 10_000)).toBe(reason);
    expect(await result(attacker, { next: 1 })).toEqual({ next: 1 });
  });

  it('leaves nothing behind', async () => {
    await lab.close();
    await eventually(() => lab.alive().length === 0);
  });
});
