import { encodeNotification, encodeRequest } from './json-rpc.js';

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
