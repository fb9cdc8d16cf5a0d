import fc from 'fast-check';
import { Conversation, type Exchange } from './conversation.js';

/** What a tool may do at any moment; `pick` chooses among all ids that were ever used, and one more. */
type Step =
  | { readonly kind: 'send' | 'cancel' | 'give up' | 'unaddressed' }
  | { readonly kind: 'answer' | 'malformed' | 'progress'; readonly pick: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('send' as const, 'cancel' as const, 'give up' as const, 'unaddressed' as const),
  }),
  fc.record({
    kind: fc.constantFrom('answer' as const, 'answer' as const, 'malformed' as const, 'progress' as const),
    pick: fc.nat(12),
  }),
);

class Requests {
  readonly conversation = new Conversation(() => undefined);
  readonly ids: string[] = [];
  readonly waiting = new Set<string>();
  /** What reached whoever sent a request, by its id. */
  readonly heard = new Map<string, unknown[]>();

  run(each: Step): void {
    const id = 'pick' in each ? (this.ids[each.pick] ?? '999') : ([...this.waiting].at(-1) ?? '');
    const rpc = { jsonrpc: '2.0' };
    switch (each.kind) {
      case 'send':
        return this.send();
      case 'cancel':
        if (this.waiting.delete(id)) this.conversation.cancel(id, nobody);
        return;
      case 'give up':
        if (this.waiting.delete(id)) this.conversation.forget(id);
        return;
      case 'answer':
        return void this.conversation.receive({ ...rpc, id, result: `for ${id}` }, 1);
      case 'malformed':
        return void this.conversation.receive({ ...rpc, id }, 1);
      case 'progress':
        return void this.conversation.receive(
          { ...rpc, method: 'progress', params: { id, progress: Number(id) } },
          1,
        );
      case 'unaddressed':
        return void this.conversation.receive(
          { ...rpc, id: null, error: { code: -32700, message: 'what?' } },
          1,
        );
    }
  }

  private send(): void {
    const id = this.conversation.nextId();
    const heard: unknown[] = [];
    this.ids.push(id);
    this.waiting.add(id);
    this.heard.set(id, heard);
    const settle = (what: unknown): void => {
      expect(this.waiting.delete(id)).toBe(true);
      heard.push(what);
    };
    this.conversation.add(id, {
      answered: (reply) => settle('result' in reply ? reply.result : 'unaddressed'),
      failed: () => settle('malformed'),
      noticed: (notice) => {
        expect(this.waiting.has(id)).toBe(true);
        expect(notice).toEqual({ type: 'progress', progress: Number(id) });
      },
    });
  }
}

const nobody: Exchange = { givenUp: 'cancelled', answered: () => undefined, failed: () => undefined };

describe('a conversation, whatever the tool says late, twice, or to nobody', () => {
  it('gives each request its own answer, once, and none to one that was given up or cancelled', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const requests = new Requests();
        for (const each of steps) requests.run(each);
        for (const [id, heard] of requests.heard) {
          expect(heard.length).toBeLessThanOrEqual(1);
          for (const what of heard) expect([`for ${id}`, 'malformed', 'unaddressed']).toContain(what);
        }
        expect(requests.conversation.size).toBeGreaterThanOrEqual(requests.waiting.size);
        requests.conversation.failAll('tool_crashed', 'gone');
        expect(requests.waiting.size).toBe(0);
        expect(requests.conversation.size).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  it('takes an error without an id for nobody once a request was cancelled', () => {
    const requests = new Requests();
    const steps = ['send', 'cancel', 'send', 'unaddressed'] as const;
    for (const kind of steps) requests.run({ kind });
    expect([...requests.heard.values()]).toEqual([[], []]);
    expect([...requests.waiting]).toEqual(requests.ids.slice(1));
  });

  it('tells an answer from what is said beside it, and both from what is none of the protocol', () => {
    const { conversation } = new Requests();
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) as unknown;
    const heard = (message: object) => conversation.receive({ jsonrpc: '2.0', ...message }, 1);
    conversation.add('1', nobody);
    expect(heard({ method: 'progress', params: { id: '1', progress: 1 } })).toBe('other');
    expect(heard({ method: 'unknown' })).toBe('other');
    conversation.forget('2');
    expect(heard({ id: '2', result: 1 })).toBe('other');
    expect(heard({ id: '3', result: 1 })).toBe('stray');
    expect(heard({ method: 'progress', params: deep })).toBe('stray');
    expect(conversation.receive({ level: 'info' }, 1)).toBe('stray');
    expect(heard({ id: '1', result: 1 })).toBe('answer');
    expect(heard({ id: '1', result: 1 })).toBe('stray');
    expect(heard({ id: null, error: { code: 1, message: 'x' } })).toBe('stray');
    conversation.add('3', nobody);
    expect(heard({ id: null, error: { code: 1, message: 'x' } })).toBe('answer');
    conversation.add('4', nobody);
    expect(heard({ id: '4' })).toBe('answer');
  });

  it('knows why its requests were given up only when all of them were', () => {
    const { conversation } = new Requests();
    expect(conversation.givenUp).toBeUndefined();
    conversation.cancel('1', nobody);
    expect(conversation.givenUp).toBe('cancelled');
    conversation.add('2', { answered: () => undefined, failed: () => undefined });
    expect(conversation.givenUp).toBeUndefined();
  });
});

describe('a text that is no JSON', () => {
  const ends = (text: string): boolean => {
    const conversation = new Conversation(() => undefined);
    conversation.add('7', nobody);
    return conversation.failBroken(text, 'is not JSON');
  };

  it.each([
    ['single quotes', `{'jsonrpc': '2.0', 'id': '7', 'result': {'a': 1}}`],
    ['single quotes, the id as a number', `{'id': 7, 'jsonrpc': '2.0', 'result': None}`],
    ['a trailing comma', '{"jsonrpc":"2.0","id":"7","result":1,}'],
    ['NaN', '{"jsonrpc": "2.0", "id": "7", "result": NaN}'],
    ['two values', '{"jsonrpc":"2.0","id":"7","result":1}{"jsonrpc":"2.0","id":"7","result":2}'],
    ['names without quotes', `{ jsonrpc: '2.0', id: '7', result: { ok: true } }`],
    ['bytes of Python', `b'{"jsonrpc": "2.0", "id": "7", "result": 1}'`],
    ['a hash of Ruby', '{"jsonrpc"=>"2.0", "id"=>"7", "result"=>1}'],
    ['a map of Java', '{jsonrpc=2.0, id=7, result={a=1}}'],
    ['a map of Go', 'map[id:7 jsonrpc:2.0 result:map[a:1]]'],
    ['a comment', '{"jsonrpc":"2.0","id":"7","result":1} // done'],
    ['an error', `{'jsonrpc': '2.0', 'id': '7', 'error': {'code': 1, 'message': "can't"}}`],
  ])('ends the request that it seems to answer: %s', (_what, text) => expect(ends(text)).toBe(true));

  it.each([
    ['another id', `{'jsonrpc': '2.0', 'id': '8', 'result': 1}`],
    ['an id that begins so', `{'jsonrpc': '2.0', 'id': '78', 'result': 1}`],
    ['a log of the request', `{'jsonrpc': '2.0', 'id': '7', 'method': 'execute', 'params': {}}`],
    ['a log of a request without quotes', `{ jsonrpc: '2.0', id: '7', method: 'execute' }`],
    ['a line of a log', 'INFO done id: 7 result: ok'],
    ['another member', `{'run_id': 7, 'result': 1}`],
    ['no result', `{'id': 7, 'level': 'info'}`],
    ['prose', 'id=7 has no result'],
    ['an answer within a text', String.raw`"{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":1}"`],
  ])('is output beside it: %s', (_what, text) => expect(ends(text)).toBe(false));
});

describe('a message', () => {
  const error = { code: -32001, message: 'no' };
  const rpc = { jsonrpc: '2.0' };

  /** What becomes of it while request 7 is open: the kind of message, and what the request is told. */
  const receive = (message: object) => {
    const told: unknown[] = [];
    const conversation = new Conversation(
      () => undefined,
      undefined,
      () => told.push('heard'),
    );
    conversation.add('7', { answered: (reply) => told.push(reply), failed: (reason) => told.push(reason) });
    return [conversation.receive(message as never, 1), ...told];
  };

  it.each([
    ['a result', { ...rpc, id: '7', result: { a: 1 } }, ['answer', { result: { a: 1 } }]],
    ['a null result', { ...rpc, id: '7', result: null }, ['answer', { result: null }]],
    ['the id as a number', { ...rpc, id: 7, result: 1 }, ['answer', { result: 1 }]],
    ['an error', { ...rpc, id: '7', error }, ['answer', { error }]],
    [
      'an error with data beside a null result',
      { ...rpc, id: '7', error: { ...error, data: [1] }, result: null },
      ['answer', { error: { ...error, data: [1] } }],
    ],
    ['a null error', { ...rpc, id: '7', error: null, result: 2 }, ['answer', { result: 2 }]],
    ['an answer to another id', { ...rpc, id: '6', result: 1 }, ['stray']],
    ['neither result nor error', { ...rpc, id: '7' }, ['answer', 'protocol_error']],
    ['a null error alone', { ...rpc, id: '7', error: null }, ['answer', 'protocol_error']],
    ['an error that is a string', { ...rpc, id: '7', error: 'boom' }, ['answer', 'protocol_error']],
    ['an error without a code', { ...rpc, id: '7', error: { message: 'x' } }, ['answer', 'protocol_error']],
    ['an error without a message', { ...rpc, id: '7', error: { code: 1 } }, ['answer', 'protocol_error']],
    ['no version', { id: '7', result: 1 }, ['answer', 'protocol_error']],
    ['an error for a null id', { ...rpc, id: null, error }, ['answer', { error }]],
    ['an error for an empty id', { ...rpc, id: '', error }, ['answer', { error }]],
    ['an error without an id', { ...rpc, error }, ['answer', { error }]],
    ['a notification', { ...rpc, method: 'progress', params: { progress: 1 } }, ['other']],
    ['a notification with a null id', { ...rpc, id: null, method: 'log', params: {} }, ['stray']],
    ['a request', { ...rpc, id: '7', method: 'sample' }, ['other', 'heard']],
    ['a log record', { level: 'info', msg: 'x' }, ['stray']],
    ['a log record with our id', { id: '7', msg: 'x' }, ['stray']],
    ['a log record with a result', { id: '99', result: 1 }, ['stray']],
    ['a log record with a method', { method: 'GET', path: '/' }, ['stray']],
    ['a result for no id', { ...rpc, id: null, result: 1 }, ['stray']],
    ['an id of another type', { ...rpc, id: {}, result: 1 }, ['stray']],
  ])('%s', (_what, message, expected) => expect(receive(message)).toEqual(expected));
});

it('ids of requests are never those of open ones, and hardly ever near another', () => {
  const conversation = new Conversation(() => undefined);
  const open = new Set<string>();
  while (open.size < 1_000) {
    const id = conversation.nextId();
    expect(open.has(id)).toBe(false);
    open.add(id);
    conversation.add(id, { answered: () => undefined, failed: () => undefined });
  }
  const sorted = [...open].map(Number).sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((id, n) => id - (sorted[n] ?? 0));
  expect(gaps.filter((gap) => gap < 5).length).toBeLessThan(5);
  expect(sorted.every(Number.isSafeInteger)).toBe(true);
});
