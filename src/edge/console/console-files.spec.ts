import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTestFolder } from '../../../test/support/test-folder.js';
import { ConsoleFiles } from './console.module.js';

const folder = makeTestFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('is no build where one is absent, or half there', () => {
  expect(new ConsoleFiles(join(folder, 'absent'), '').page('n')).toBeUndefined();
  writeFileSync(join(folder, 'index.html'), 'without assets');
  expect(new ConsoleFiles(folder, '').page('n')).toBeUndefined();
});

it('puts the nonce and the public path in their places, and knows only what is built', () => {
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<script nonce="__NONCE__" src="./assets/a-1.js">');
  writeFileSync(join(folder, 'assets', 'a-1.js'), 'let a;');
  const files = new ConsoleFiles(folder, '/tk');
  expect(files.page('x1')).toBe('<script nonce="x1" src="/tk/console/assets/a-1.js">');
  expect(files.asset('a-1.js')).toBeDefined();
  expect(files.asset('../index.html')).toBeUndefined();
});
