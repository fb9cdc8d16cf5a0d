import { gunzipSync } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import { archiveOf } from './tar.js';

it('packs files so that others can unpack them', async () => {
  const files = [
    { path: 'tool.json', content: '{"name":"ü"}' },
    { path: 'lib/empty', content: '' },
    { path: 'tool.py', content: 'x'.repeat(1_024) },
  ];
  const packed = await archiveOf(files);
  const read: { path: string; content: string }[] = [];
  const parser = new Parser({ strict: true });
  parser.on('entry', (entry: ReadEntry) => {
    const chunks: Buffer[] = [];
    entry.on('data', (chunk: Buffer) => chunks.push(chunk));
    entry.on('end', () => read.push({ path: entry.path, content: Buffer.concat(chunks).toString() }));
  });
  parser.end(gunzipSync(await packed.bytes()));
  expect(packed.type).toBe('application/gzip');
  expect(read).toEqual(files);
  expect(() => archiveOf([{ path: 'x'.repeat(101), content: '' }])).toThrow('too long');
});
