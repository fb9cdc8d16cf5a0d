import { randomBytes } from 'node:crypto';
import { KeyRing, SealedValues } from './key-ring.js';

const [old, now] = [randomBytes(32), randomBytes(32)] as const;
const sealing = (purpose: string, ...keys: Buffer[]): SealedValues =>
  new SealedValues(new KeyRing(keys, '/nowhere/secrets.key'), purpose);
const value = { name: 'ü', n: [1, null] };

it('opens what it sealed, which is another text each time and does not show its content', () => {
  const box = sealing('a', now);
  const sealed = box.seal(value);
  expect(box.open(sealed)).toEqual(value);
  expect(box.seal(value)).not.toBe(sealed);
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('name');
});

it('opens what was sealed under an earlier key, as long as that is there', () => {
  const sealed = sealing('a', old).seal(value);
  expect(sealing('a', now, old).open(sealed)).toEqual(value);
  expect(sealing('a', now).open(sealed)).toBeUndefined();
});

function altered(sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  bytes.writeUInt8(bytes.readUInt8(30) ^ 1, 30);
  return bytes.toString('base64url');
}

it.each<[string, (sealed: string) => string]>([
  ['cut', (sealed) => sealed.slice(0, -4)],
  ['empty', () => ''],
  ['longer', (sealed) => `${sealed}AAAA`],
  ['with another character at the end', (sealed) => `${sealed}!`],
  ['of other bytes', altered],
  ['for another purpose', () => sealing('b', now).seal(value)],
])('does not open a text that is %s', (_what, change) => {
  const box = sealing('a', now);
  expect(box.open(change(box.seal(value)))).toBeUndefined();
});
