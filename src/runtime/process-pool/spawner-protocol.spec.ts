import {
  encodeSignal,
  encodeSpawn,
  ReplyReader,
  type SpawnerReply,
  systemError,
} from './spawner-protocol.js';

const spec = { command: '/bin/x', args: ['-a', 'é'], cwd: '/tmp', env: { A: '1', B: '' } };

const frame = (...numbers: number[]) => {
  const bytes = Buffer.alloc(24);
  numbers.forEach((number, n) => bytes.writeUInt32LE(number, 4 * n));
  return bytes;
};

const read = (chunks: Buffer[]) => {
  const replies: SpawnerReply[] = [];
  const reader = new ReplyReader((reply) => replies.push(reply));
  for (const chunk of chunks) reader.push(chunk);
  return replies;
};

describe('encodeSpawn', () => {
  it('writes length, kind, id, the two counts, and strings that end with NUL', () => {
    const bytes = encodeSpawn(7, spec);
    expect([0, 4, 8, 12, 16].map((at) => bytes.readUInt32LE(at))).toEqual([bytes.length - 12, 1, 7, 3, 2]);
    expect(bytes.subarray(20).toString()).toBe('/bin/x\0/tmp\0/bin/x\0-a\0é\0A=1\0B=\0');
  });

  it.each([
    ['command', { command: 'a\0b' }],
    ['argument', { args: ['\0'] }],
    ['directory', { cwd: '/\0' }],
    ['variable', { env: { A: '\0' } }],
  ])('refuses a NUL in a %s: it would shift what follows', (_what, part) => {
    expect(() => encodeSpawn(1, { ...spec, ...part })).toThrow('must not hold NUL characters');
  });

  it('refuses what no system takes', () => {
    expect(() => encodeSpawn(1, { ...spec, args: ['x'.repeat(17_000_000)] })).toThrow(
      expect.objectContaining({ code: 'E2BIG' }),
    );
  });
});

it('a signal is sent by its number', () => {
  expect(encodeSignal(9, 'SIGTERM')).toEqual(Buffer.from([4, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 15, 0, 0, 0]));
});

describe('ReplyReader', () => {
  const frames = [
    frame(1, 0, 1),
    frame(2, 5, 4242, 9, 10, 11),
    frame(3, 6, 2, 5),
    frame(4, 5, 3, 0),
    frame(4, 7, 0, 9),
  ];
  const replies = [
    { kind: 'ready', version: 1 },
    { kind: 'started', id: 5, pid: 4242, fds: [9, 10, 11] },
    { kind: 'failed', id: 6, errno: -2 },
    { kind: 'exited', id: 5, code: 3, signal: null },
    { kind: 'exited', id: 7, code: null, signal: 'SIGKILL' },
  ];

  it.each([1, 23, 24, 25, 1_000])('reads replies that come in chunks of %d bytes', (size) => {
    const all = Buffer.concat(frames);
    const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, n) =>
      all.subarray(n * size, (n + 1) * size),
    );
    expect(read(chunks)).toEqual(replies);
  });

  it('takes a signal without a name for a kill', () => {
    expect(read([frame(4, 1, 0, 50)])).toEqual([{ kind: 'exited', id: 1, code: null, signal: 'SIGKILL' }]);
  });

  it('throws at what no spawner says', () => {
    expect(() => read([frame(99)])).toThrow('unknown message: 99');
  });
});

it("a system error is as Node's own", () => {
  expect(systemError(-13, '/x')).toMatchObject({ code: 'EACCES', errno: -13, message: 'spawn /x EACCES' });
});
