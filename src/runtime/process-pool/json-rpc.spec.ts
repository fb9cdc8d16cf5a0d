import { encodeNotification, encodeRequest, freshId } from './json-rpc.js';

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
