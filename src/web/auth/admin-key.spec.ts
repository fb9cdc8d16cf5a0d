import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTestFolder } from '../../../test/support/test-folder.js';
import { loadConfig } from '../../base/config/app-config.js';
import { AdminKey, KnownKeys } from './known-keys.js';

// real: files; mock: nothing

const given = 'a-key-of-enough-length';

const opens = (admin: AdminKey, key: string): boolean => new KnownKeys(admin).find(key) !== undefined;

describe('AdminKey', () => {
  let folder: string;
  beforeEach(() => {
    folder = makeTestFolder();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const keyOf = (variables: NodeJS.ProcessEnv = {}): AdminKey =>
    new AdminKey(loadConfig({ TOOLKEEPER_DATA_DIR: join(folder, 'data'), ...variables }));
  const file = (): string => join(folder, 'data', 'admin.key');
  const text = (): string => readFileSync(file(), 'utf8');

  it('is made once, of 32 random bytes, for its owner alone', () => {
    const first = keyOf();
    const key = text().trim();
    expect(key).toMatch(/^[\w-]{43}$/);
    expect([first.file, opens(first, key), opens(first, `${key}x`), opens(first, '')]).toEqual([
      file(),
      true,
      false,
      false,
    ]);
    expect([statSync(file()).mode & 0o777, statSync(join(folder, 'data')).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
    expect(opens(keyOf(), key)).toBe(true);
    expect(text().trim()).toBe(key);
    expect(readdirSync(join(folder, 'data'))).toEqual(['admin.key']);
  });

  it('is another one on another server', () => {
    keyOf();
    const one = text();
    rmSync(file());
    keyOf();
    expect(text()).not.toBe(one);
  });

  it('is made private where it was not', () => {
    mkdirSync(join(folder, 'data'));
    writeFileSync(file(), `${given}\n`);
    chmodSync(file(), 0o644);
    expect(opens(keyOf(), given)).toBe(true);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it.each(['', '\n', 'short\n', 'two words of a key\n'])(
    'stops the start where the file holds %j',
    (content) => {
      mkdirSync(join(folder, 'data'));
      writeFileSync(file(), content);
      expect(() => keyOf()).toThrow(/admin\.key holds no key.*remove it/);
      expect(text()).toBe(content);
    },
  );

  it('stops the start where no file can be made, with the ways out', () => {
    writeFileSync(join(folder, 'data'), '');
    expect(() => keyOf()).toThrow(/cannot be written.*ADMIN_API_KEY.*TOOLKEEPER_DATA_DIR/);
  });

  it.each([
    ['ADMIN_API_KEY', { ADMIN_API_KEY: given }, true],
    ['AUTH_MODE=off', { AUTH_MODE: 'off' }, false],
    ['an address that others reach', { HOST: '0.0.0.0' }, false],
  ])('is not made with %s', (_what, variables, matches) => {
    const key = keyOf(variables);
    expect([key.file, opens(key, given), opens(key, '')]).toEqual([undefined, matches, false]);
    expect(() => statSync(file())).toThrow('ENOENT');
  });
});
