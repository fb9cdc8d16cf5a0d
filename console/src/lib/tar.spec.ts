import { gunzipSync } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import { archiveOf, type TextFile } from './tar.js';

it('packs files so that others can unpack them', async () => {
  const files = [
    { path: 'tool.json', content: '{"name":"ü"}', executable: false },
    { path: 'lib/empty', content: '', executable: false },
    { path: 'tool.py', content: 'x'.repeat(1_024), executable: true },
  ];
  const packed = await archiveOf(files);
  const read: TextFile[] = [];
  const parser = new Parser({ strict: true });
  parser.on('entry', (entry: ReadEntry) => {
    const chunks: Buffer[] = [];
    entry.on('data', (chunk: Buffer) => chunks.push(chunk));
    entry.on('end', () =>
      read.push({
        path: entry.path,
        content: Buffer.concat(chunks).toString(),
        executable: entry.mode === 0o755,
      }),
    );
  });
  parser.end(gunzipSync(await packed.bytes()));
  expect(packed.type).toBe('application/gzip');
  expect(read).toEqual(files);
  expect(() => archiveOf([{ path: 'x'.repeat(101), content: '' }])).toThrow('too long');
});
