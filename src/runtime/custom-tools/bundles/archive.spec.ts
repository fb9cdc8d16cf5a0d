import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { create } from 'tar';
import { archiveOf, type Entry, tarOf } from '../../../../test/support/bundle.js';
import { makeTestFolder } from '../../../../test/support/test-folder.js';
import { unpack } from './archive.js';

// real: files, gzip, tar; mock: nothing

const limits = { maxEntries: 100, maxBytes: 100_000 };
let folder: string;
let files: string;
beforeEach(() => {
  folder = makeTestFolder();
  files = join(folder, 'work', 'files');
  mkdirSync(join(folder, 'work'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function written(archive: Buffer): string {
  const path = join(folder, 'bundle.tgz');
  writeFileSync(path, archive);
  return path;
}
const unpacked = (entries: readonly Entry[]) => unpack(written(archiveOf(entries)), files, limits);

it('files keep content and executable bit, and nobody may write them', async () => {
  await expect(
    unpacked([
      { path: './/', type: 'Directory' },
      { path: './tool.json', content: '{}', mode: 0o666 },
      { path: './bin/run', content: '#!/bin/sh\n', mode: 0o4777 },
    ]),
  ).resolves.toEqual({ hash: expect.stringMatching(/^[0-9a-f]{64}$/), files: 2, bytes: 12 });
  expect(readFileSync(join(files, 'bin', 'run'), 'utf8')).toBe('#!/bin/sh\n');
  const modes = ['tool.json', 'bin/run', 'bin'].map((path) => statSync(join(files, path)).mode & 0o7777);
  expect(modes).toEqual([0o444, 0o555, 0o755]);
});

it('the hash is that of the files, however they were packed', async () => {
  const { hash } = await unpacked([{ path: 'a', content: 'x' }, { path: 'b/c' }]);
  await create({ cwd: files, file: join(folder, 'again.tgz'), gzip: true }, ['.']);
  await expect(unpack(join(folder, 'again.tgz'), join(folder, 'again'), limits)).resolves.toMatchObject({
    hash,
  });
  const others: Entry[][] = [
    [{ path: 'a', content: 'y' }, { path: 'b/c' }],
    [{ path: 'a', content: 'x', mode: 0o755 }, { path: 'b/c' }],
    [{ path: 'a', content: 'x' }, { path: 'b/d' }],
  ];
  for (const [n, entries] of others.entries()) {
    const other = await unpack(written(archiveOf(entries)), join(folder, `other${n}`), limits);
    expect(other.hash).not.toBe(hash);
  }
});

describe('nothing is made outside of the folder by', () => {
  const hostile: readonly [string, readonly Entry[], RegExp][] = [
    ['a path that climbs', [{ path: '../out', content: 'x' }], /leads out/],
    ['one that climbs further down', [{ path: 'a/../../out' }], /leads out/],
    ['an absolute path', [{ path: `/tmp/out` }], /leads out/],
    ['a folder above', [{ path: '..', type: 'Directory' }], /leads out/],
    [
      'a link',
      [{ path: 'a', type: 'SymbolicLink', linkpath: '/etc' }, { path: 'a/out' }],
      /is a SymbolicLink/,
    ],
    ['a hard link', [{ path: 'a', type: 'Link', linkpath: '/etc/passwd' }], /is a Link/],
    ['a device', [{ path: 'a', type: 'CharacterDevice' }], /is a CharacterDevice/],
    ['a disk', [{ path: 'a', type: 'BlockDevice' }], /is a BlockDevice/],
    ['a pipe', [{ path: 'a', type: 'FIFO' }], /is a FIFO/],
    ['a file twice', [{ path: 'a' }, { path: './a', content: 'x' }], /twice/],
    ['a file that is a folder', [{ path: 'a' }, { path: 'a/b' }], /EEXIST|ENOTDIR/],
    ['a folder that is a file', [{ path: 'a/b' }, { path: 'a' }], /EEXIST|EISDIR/],
    ['a name that cannot be printed', [{ path: 'a\nb' }], /no path/],
    ...[
      '200e',
      '200f',
      '202a',
      '202e',
      '2066',
      '2069',
      '061c',
      '200b',
      '2060',
      'feff',
      '00ad',
      '2028',
      '2029',
    ].map((mark): [string, readonly Entry[], RegExp] => [
      `a name with the invisible mark U+${mark}`,
      [{ path: `a${String.fromCodePoint(parseInt(mark, 16))}b` }],
      /no path/,
    ]),
    ['too many files', Array.from({ length: 101 }, (_, n) => ({ path: `f${n}` })), /more than 100 files/],
    [
      'too much',
      [
        { path: 'a', content: 'x'.repeat(60_000) },
        { path: 'b', content: 'x'.repeat(60_000) },
      ],
      /more than 100000/,
    ],
  ];
  it.each(hostile)('%s', async (_what, entries, why) => {
    await expect(unpacked(entries)).rejects.toThrow(why);
    expect(readdirSync(folder).sort()).toEqual(['bundle.tgz', 'work']);
    expect(readdirSync(join(folder, 'work'))).toEqual(['files']);
  });

  it('a name of another script, with its joiners, is a name', async () => {
    await unpacked([{ path: 'می\u200cخواهم.txt' }, { path: '日本.txt' }]);
    expect(readdirSync(files).sort()).toEqual(['می\u200cخواهم.txt', '日本.txt']);
  });

  it('zeros behind the end of a tar are not parsed', async () => {
    const mb = 10;
    const archive = written(gzipSync(Buffer.concat([tarOf([{ path: 'a' }]), Buffer.alloc(mb * 1e6)])));
    const began = process.cpuUsage();
    await unpack(archive, files, { maxEntries: 10, maxBytes: 2 * mb * 1e6 });
    const { user, system } = process.cpuUsage(began);
    // A parser that reads each block takes 0.8 s a megabyte. Other tests of this process may add their garbage.
    expect((user + system) / 1e6).toBeLessThan(0.3 * mb);
  });

  const whole = tarOf([{ path: 'a', content: 'x'.repeat(2_000) }]);
  it.each([
    ['no gzip', Buffer.from('PK\u0003\u0004 a zip'), /no gzip/],
    ['gzip in gzip', gzipSync(gzipSync(whole)), /compressed twice/],
    ['no tar', gzipSync('{"name": "x"}'.repeat(100)), /cannot be read/],
    ['half a gzip', gzipSync(whole).subarray(0, 40), /no gzip/],
    ['half a tar', gzipSync(whole.subarray(0, 1_024)), /cannot be read/],
    [
      'a bomb behind the end of the tar',
      gzipSync(Buffer.concat([whole, Buffer.alloc(2_000_000)])),
      /more than 100000/,
    ],
  ])('%s', async (_what, bytes, why) => {
    await expect(unpack(written(bytes), files, limits)).rejects.toThrow(why);
  });
});
