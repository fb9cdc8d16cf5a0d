import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { secretKeysIn } from '../../base/config/setting.js';
import {
  changedEnv,
  EnvCipher,
  envIdentity,
  sealedEnv,
  type SealedValue,
  secretsOf,
  shownEnv,
  SecretUnreadable,
  type StoredEnv,
} from './env-cipher.js';
import { KeyRing } from '../../base/config/key-ring.js';
import { KeyFileError } from '../../base/config/key-file.js';

// real: AES-256-GCM of Node, key files; mock: nothing

let folder: string;
let keyFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolkeeper-keys-'));
  keyFile = join(folder, 'data', 'secrets.key');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const key = () => randomBytes(32);
const boxWith = (...keys: Buffer[]): EnvCipher => new EnvCipher(new KeyRing(keys, keyFile));
const one = (env: StoredEnv, name: string): SealedValue => env[name] as SealedValue;

describe('secretKeysIn', () => {
  it('reads hex, base64 and base64url, in their order', () => {
    const keys = [key(), key(), key()] as const;
    const text = `${keys[0].toString('hex')}, ${keys[1].toString('base64')},${keys[2].toString('base64url')}\n`;
    expect(secretKeysIn(text)).toEqual(keys);
  });

  it.each([
    '',
    ' , ',
    'secret',
    'a'.repeat(63),
    randomBytes(31).toString('base64'),
    randomBytes(33).toString('hex'),
  ])('takes %j for no key', (text) => expect(secretKeysIn(text)).toBeUndefined());
});

describe('EnvCipher', () => {
  it('opens what it sealed, and shows nothing of it', () => {
    const box = boxWith(key());
    const env = { TOKEN: 's3cret', EMPTY: '', TEXT: 'grüße\n"\u{1f600}', ['__proto__']: 'x' };
    const sealed = box.seal('t1', env);
    expect(JSON.stringify(sealed)).not.toContain('s3cret');
    expect(box.open('t1', sealed)).toEqual(env);
    expect(Object.keys(sealed)).toEqual(Object.keys(env));
  });

  it('never encrypts the same value alike, with a nonce of 96 bits', () => {
    const box = boxWith(key());
    const nonces = Array.from({ length: 500 }, () => one(box.seal('t', { A: 'x' }), 'A').nonce);
    expect(new Set(nonces).size).toBe(500);
    expect(Buffer.from(nonces[0] ?? '', 'base64')).toHaveLength(12);
  });

  it('refuses a value that was moved to another tool or name, or changed', () => {
    const box = boxWith(key());
    const sealed = box.seal('t1', { A: 'one', B: 'two' });
    const flipped = Buffer.from(one(sealed, 'A').data, 'base64');
    flipped[0] = (flipped[0] ?? 0) ^ 1;
    const wrongs: [string, StoredEnv][] = [
      ['t2', sealed],
      ['t1', { A: one(sealed, 'B') }],
      ['t1', { A: { ...one(sealed, 'A'), data: flipped.toString('base64') } }],
      ['t1', { A: { ...one(sealed, 'A'), data: '' } }],
      ['t1', { A: { ...one(sealed, 'A'), nonce: one(sealed, 'B').nonce } }],
    ];
    for (const [id, env] of wrongs) expect(() => box.open(id, env)).toThrow(SecretUnreadable);
  });

  it('opens values of an older key while it is listed, and says which key is missing', () => {
    const [older, newer] = [key(), key()];
    const sealed = boxWith(older).seal('t', { TOKEN: 'abc' });
    const both = boxWith(newer, older);
    expect(both.open('t', sealed)).toEqual({ TOKEN: 'abc' });
    expect(both.isCurrent(sealed)).toBe(false);
    const renewed = both.renew('t', sealed);
    expect(both.isCurrent(renewed)).toBe(true);
    expect(boxWith(newer).open('t', renewed)).toEqual({ TOKEN: 'abc' });
    const { key: id } = one(sealed, 'TOKEN');
    expect(() => boxWith(newer).open('t', sealed)).toThrow(new RegExp(`TOKEN .* ${id}.* SECRETS_KEY`));
  });
});

describe('a change of an environment', () => {
  it('sets, removes and keeps; kept and equal values keep their ciphertext', () => {
    const box = boxWith(key());
    const before = sealedEnv(box, 't', { KEPT: 'k', SAME: 's', SHOWN: 'h', GONE: 'g', NEW: 'old' });
    const after = changedEnv(box, 't', before, {
      SAME: 's',
      SHOWN: '***',
      GONE: null,
      NEW: 'new',
      NEVER: null,
    });
    expect(box.open('t', after)).toEqual({ KEPT: 'k', SAME: 's', SHOWN: 'h', NEW: 'new' });
    for (const name of ['KEPT', 'SAME', 'SHOWN']) expect(after[name]).toEqual(before[name]);
    expect(after['NEW']).not.toEqual(before['NEW']);
    expect(changedEnv(box, 't', before, {})).toEqual(before);
  });

  it('replaces a value whose key is lost, without opening the others', () => {
    const lost = boxWith(key()).seal('t', { A: 'a', B: 'b' });
    const box = boxWith(key());
    const after = changedEnv(box, 't', lost, { A: 'again' });
    expect(after['B']).toBe(lost['B']);
    expect(box.open('t', changedEnv(box, 't', after, { B: null }))).toEqual({ A: 'again' });
  });

  it('refuses *** for a value that is not set', () => {
    const box = boxWith(key());
    const problem = { details: { errors: [{ pointer: '/env/NEW', detail: expect.any(String) }] } };
    expect(() => changedEnv(box, 't', {}, { NEW: '***' })).toThrow(expect.objectContaining(problem));
    expect(() => sealedEnv(box, 't', { NEW: '***' })).toThrow(expect.objectContaining(problem));
  });
});

describe('values that are no secrets', () => {
  it.each<[string, string, boolean]>([
    ...'true FALSE docker production development debug info localhost 0 8080 65535'
      .split(' ')
      .map((word): [string, string, boolean] => ['MODE', word, false]),
    ...'dockers truex s3cret 1234567 1.2.3 eu-west-1'
      .split(' ')
      .map((word): [string, string, boolean] => ['MODE', word, true]),
    ['MODE', '', true],
    ['DB_PASSWORD', 'postgres', true],
    ['TOKEN', 'true', true],
    ['PIN', '1234', true],
    ['SPINNER', 'true', false],
  ])('%s=%s is a secret: %s', (name, value, isSecret) => {
    const sealed = boxWith(key()).seal('t', { [name]: value });
    expect(secretsOf(sealed, { [name]: value })).toEqual(isSecret ? { [name]: value } : {});
    expect(shownEnv(sealed)[name]).toEqual(isSecret ? '***' : { value, secret: false });
  });

  it('are what their registration says, and need no key', () => {
    const box = boxWith();
    const env = box.seal('t', { A: { value: 's3cret', secret: false }, B: 'true' });
    expect([box.open('t', env), box.isCurrent(env)]).toEqual([{ A: 's3cret', B: 'true' }, true]);
    expect(() => statSync(keyFile)).toThrow('ENOENT');
    expect(shownEnv(box.seal('t', { A: { value: 'true', secret: true }, B: { value: 'x' } }))).toEqual({
      A: '***',
      B: '***',
    });
  });

  it('go to and fro: a value that was stored as a secret stays one until it is given again', () => {
    const box = boxWith(key());
    const before = box.seal('t', { A: { value: 'true', secret: true } });
    expect(shownEnv(changedEnv(box, 't', before, { A: '***' }))).toEqual({ A: '***' });
    const plain = changedEnv(box, 't', before, { A: 'true' });
    expect(shownEnv(plain)).toEqual({ A: { value: 'true', secret: false } });
    expect(changedEnv(box, 't', plain, shownEnv(plain))).toEqual(plain);
    expect(box.renew('t', plain)).toEqual(plain);
    expect(envIdentity(plain)).not.toEqual(envIdentity(before));
  });
});

describe('the key file', () => {
  it('is made at the first need, for its owner alone, and found again', () => {
    const box = boxWith();
    expect(box.open('t', {})).toEqual({});
    expect(() => statSync(keyFile)).toThrow('ENOENT');
    const sealed = box.seal('t', { A: 'x' });
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(secretKeysIn(readFileSync(keyFile, 'utf8'))).toHaveLength(1);
    expect(boxWith().open('t', sealed)).toEqual({ A: 'x' });
  });

  it('still decrypts when SECRETS_KEY is set later, and is made private again', () => {
    const sealed = boxWith().seal('t', { A: 'x' });
    chmodSync(keyFile, 0o644);
    const box = boxWith(key());
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(box.open('t', sealed)).toEqual({ A: 'x' });
    expect(box.isCurrent(sealed)).toBe(false);
  });

  it('is one for two servers that start on the same folder', () => {
    const [first, second] = [boxWith(), boxWith()];
    const sealed = first.seal('t', { A: '1' });
    expect(second.open('t', sealed)).toEqual({ A: '1' });
    expect(one(second.seal('t', { A: '2' }), 'A').key).toBe(one(sealed, 'A').key);
  });

  it('that holds no key stops the start; one that cannot be written stops the sealing', () => {
    boxWith().seal('t', { A: 'x' });
    writeFileSync(keyFile, 'not a key');
    expect(() => boxWith()).toThrow(KeyFileError);
    const aFile = join(folder, 'data', 'file');
    writeFileSync(aFile, '');
    const nowhere = new EnvCipher(new KeyRing([], join(aFile, 'secrets.key')));
    expect(() => nowhere.seal('t', { A: 'x' })).toThrow(/SECRETS_KEY is not set/);
    expect(() => sealedEnv(nowhere, 't', { A: 'x' })).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
    expect(sealedEnv(nowhere, 't', {})).toEqual({});
  });
});
