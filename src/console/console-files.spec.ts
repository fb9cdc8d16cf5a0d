import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { makeTestFolder } from '../../test/support/test-folder.js';
import { ConsoleFiles } from './console.controller.js';

const folder = makeTestFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('is no build where one is absent, or half there', () => {
  expect(new ConsoleFiles(join(folder, 'absent')).page('n')).toBeUndefined();
  writeFileSync(join(folder, 'index.html'), 'without assets');
  expect(new ConsoleFiles(folder).page('n')).toBeUndefined();
});

it('puts the nonce in its places, and knows only what is built', async () => {
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<script nonce="__NONCE__"><link nonce="__NONCE__">');
  writeFileSync(join(folder, 'assets', 'a-1.js'), 'let a;');
  const files = new ConsoleFiles(folder);
  expect(files.page('x1')).toBe('<script nonce="x1"><link nonce="x1">');
  expect(gunzipSync((await files.asset('a-1.js')?.gzipped()) ?? '').toString()).toBe('let a;');
  expect(files.asset('../index.html')).toBeUndefined();
});
