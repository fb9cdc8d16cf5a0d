import { classify, encodeNotification, encodeRequest, freshId } from './json-rpc.js';

const open = new Set(['7']);
const of = (message: Record<string, unknown>) => classify(message, open);
const rpc = (rest: Record<string, unknown>) => of({ jsonrpc: '2.0', ...rest });

describe('encodeRequest', () => {
  it('writes one line with a string id', () => {
    const line = encodeRequest('3', 'execute', { input: { text: 'a\nb\u2028c\u2029' } });
    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(JSON.parse(line)).toEqual({
      jsonrpc: '2.0',
      id: '3',
      method: 'execute',
      params: { input: { text: 'a\nb\u2028c\u2029' } },
    });
  });
});

describe('encodeNotification', () => {
  it('writes one line without an id', () => {
    const line = encodeNotification('cancel', { id: '7', note: 'a\u2029b' });
    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(line).not.toContain('\u2029');
    expect(JSON.parse(line)).toEqual({
      jsonrpc: '2.0',
      method: 'cancel',
      params: { id: '7', note: 'a\u2029b' },
    });
  });
});

describe('freshId', () => {
  it('is never one that is open, and hardly ever near another', () => {
    const open = new Set<string>();
    while (open.size < 1_000) {
      const id = freshId(open);
      expect(open.has(id)).toBe(false);
      open.add(id);
    }
    const sorted = [...open].map(Number).sort((a, b) => a - b);
    const gaps = sorted.slice(1).map((id, n) => id - (sorted[n] ?? 0));
    expect(gaps.filter((gap) => gap < 5).length).toBeLessThan(5);
    expect(sorted.every(Number.isSafeInteger)).toBe(true);
  });
});

describe('classify', () => {
  it('knows the answer to an open request, also with a null result or with the id as a number', () => {
    expect(rpc({ id: '7', result: { a: 1 } })).toEqual({
      kind: 'reply',
      id: '7',
      reply: { result: { a: 1 } },
    });
    expect(rpc({ id: '7', result: null })).toEqual({ kind: 'reply', id: '7', reply: { result: null } });
    expect(rpc({ id: 7, result: 1 })).toEqual({ kind: 'reply', id: '7', reply: { result: 1 } });
  });

  it('knows an error answer, with and without data, also beside a null result', () => {
    const error = { code: -32001, message: 'no' };
    expect(rpc({ id: '7', error })).toEqual({ kind: 'reply', id: '7', reply: { error } });
    expect(rpc({ id: '7', error: { ...error, data: [1] }, result: null })).toEqual({
      kind: 'reply',
      id: '7',
      reply: { error: { ...error, data: [1] } },
    });
    expect(rpc({ id: '7', error: null, result: 2 })).toEqual({
      kind: 'reply',
      id: '7',
      reply: { result: 2 },
    });
  });

  it('knows a late answer', () => {
    expect(rpc({ id: '6', result: 1 })).toEqual({ kind: 'ignored' });
  });

  it.each([
    ['neither result nor error', { jsonrpc: '2.0', id: '7' }],
    ['a null error alone', { jsonrpc: '2.0', id: '7', error: null }],
    ['an error that is a string', { jsonrpc: '2.0', id: '7', error: 'boom' }],
    ['an error without a code', { jsonrpc: '2.0', id: '7', error: { message: 'x' } }],
    ['an error whose message is missing', { jsonrpc: '2.0', id: '7', error: { code: 1 } }],
    ['no version', { id: '7', result: 1 }],
  ])('calls an answer to an open request malformed: %s', (_what, message) => {
    expect(of(message)).toMatchObject({ kind: 'malformed', id: '7' });
  });

  it('knows an error that answers no id: null, empty or absent', () => {
    const error = { code: -32700, message: 'Parse error' };
    for (const id of [null, '', undefined])
      expect(rpc({ id, error })).toEqual({ kind: 'unaddressed', reply: { error } });
  });

  it('tells notifications from requests of the tool', () => {
    expect(rpc({ method: 'progress', params: {} })).toEqual({ kind: 'notification' });
    expect(rpc({ id: null, method: 'progress' })).toEqual({ kind: 'notification' });
    expect(rpc({ id: '7', method: 'sample' })).toEqual({ kind: 'request' });
  });

  it.each([
    ['a log record', { level: 'info', msg: 'x' }],
    ['a log record with our id', { id: '7', msg: 'x' }],
    ['a log record with a result', { id: '99', result: 1 }],
    ['a log record with a method', { method: 'GET', path: '/' }],
    ['a result for no id', { jsonrpc: '2.0', id: null, result: 1 }],
    ['an id of another type', { jsonrpc: '2.0', id: {}, result: 1 }],
  ])('calls other objects noise: %s', (_what, message) => {
    expect(of(message)).toEqual({ kind: 'noise' });
  });
});
