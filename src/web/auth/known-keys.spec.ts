import type { Scope } from '../contract/principal.js';
import type { StoredKey } from './keys/keys.dto.js';
import { hashOfKey, KnownKeys, newKey } from './known-keys.js';

const operators = 'a-key-of-enough-length';
const admin = { hash: hashOfKey(operators) } as ConstructorParameters<typeof KnownKeys>[0];

function stored(change: Partial<StoredKey> = {}): StoredKey & { readonly key: string } {
  const { id, key } = newKey();
  return {
    ...{ id, key, hash: hashOfKey(key), name: 'n', owner: 'o', scopes: ['tools:call'] },
    ...{
      projects: null,
      tools: null,
      mcpServers: null,
      rate: null,
      createdAt: new Date(),
      createdBy: 'admin',
    },
    ...{ expiresAt: null, revokedAt: null, revokedBy: null, lastUsedAt: null, ...change },
  };
}
function knowing(...keys: StoredKey[]): KnownKeys {
  const known = new KnownKeys(admin);
  known.replace(keys);
  return known;
}

describe('KnownKeys', () => {
  it("finds a key's owner by the whole key, and by nothing less", () => {
    const [one, two] = [stored({ owner: 'one' }), stored({ owner: 'two' })];
    const known = knowing(one, two);
    expect(known.find(one.key)).toMatchObject({ userId: 'one', keyId: one.id });
    expect(known.find(two.key)?.userId).toBe('two');
    const secret = two.key.slice(-43);
    const wrong = [
      ...[`tk_${one.id}_${secret}`, one.key.slice(0, -1), `${one.key}x`, `tk_${one.id}_`, `tk_${one.id}`],
      ...[
        `tk_${'0'.repeat(20)}_${secret}`,
        secret,
        `_${one.key}`,
        one.key.toUpperCase(),
        ' ',
        '',
        'tk_',
        'tk__',
      ],
      ...[`tk_${one.id}_${hashOfKey(one.key).toString('hex')}`, 'tk___proto___x', operators.slice(1)],
    ];
    for (const key of wrong) expect([key, known.find(key)]).toEqual([key, undefined]);
    expect(known.find(undefined)).toBeUndefined();
  });

  it('takes as long for a guess whether its id is known or not', () => {
    const key = stored();
    const known = knowing(key, ...Array.from({ length: 500 }, () => stored()));
    const guesses = [`tk_${key.id}_${'x'.repeat(43)}`, newKey().key, 'y'.repeat(key.key.length)];
    const times = guesses.map((): number[] => []);
    for (let round = 0; round < 5_000; round++) {
      guesses.forEach((guess, place) => {
        const begun = performance.now();
        known.find(guess);
        times[place]?.push(performance.now() - begun);
      });
    }
    // The median of interleaved rounds: what else the machine does meets all alike. To leave the hash out would be tenfold.
    const [first = 0, ...others] = times.map((each) => each.sort((a, b) => a - b)[2_500] ?? 0);
    for (const other of others) {
      expect(other / first).toBeGreaterThan(0.5);
      expect(other / first).toBeLessThan(2);
    }
  });

  it("knows the operator's key beside them, also one that looks like a key of the table", () => {
    expect(knowing(stored()).find(operators)).toMatchObject({ userId: 'admin', keyId: 'admin' });
    const given = newKey().key;
    const known = new KnownKeys({ hash: hashOfKey(given) } as typeof admin);
    expect(known.find(given)?.keyId).toBe('admin');
    expect(new KnownKeys({} as typeof admin).find(given)).toBeUndefined();
  });

  it.each<[Scope, string]>([
    ['tools:call', 'tools:call'],
    ['tools:admin', 'metrics:read tools:admin tools:call'],
    ['playbooks:write', 'playbooks:write'],
    [
      'admin',
      'admin audit:read experiments:write metrics:read playbooks:write tools:admin tools:call traces:read traces:write',
    ],
  ])('%s is %s', (scope, all) => {
    const key = stored({ scopes: [scope] });
    expect([...(knowing(key).find(key.key)?.scopes ?? [])].sort().join(' ')).toBe(all);
  });

  it('ends keys that are gone, and those whose time is over, once', () => {
    const [stays, goes, expires] = [stored(), stored(), stored({ expiresAt: new Date(Date.now() + 60_000) })];
    const known = knowing(stays, goes, expires);
    const ended: string[] = [];
    known.ended.subscribe((id) => ended.push(id));
    known.replace([stays, expires]);
    expect([ended, known.find(goes.key)]).toEqual([[goes.id], undefined]);
    for (let look = 0; look < 2; look++) known.forgetExpired(Date.now() + 60_001);
    expect([ended, known.find(expires.key)]).toEqual([[goes.id, expires.id], undefined]);
    expect(known.find(stays.key)).toBeDefined();
  });

  it('opens nothing from the moment a key expires, though nobody has looked yet', () => {
    const key = stored({ expiresAt: new Date(Date.now() - 1) });
    expect(knowing(key).find(key.key)).toBeUndefined();
  });

  it('tells once when which key was used last', () => {
    const [used, idle] = [stored(), stored()];
    const known = knowing(used, idle);
    const before = Date.now();
    known.find(used.key);
    known.find(`${idle.key}x`);
    known.find(operators);
    const [[id, at] = [], ...others] = known.takeLastUses();
    expect([id, others]).toEqual([used.id, []]);
    expect(at).toBeGreaterThanOrEqual(before);
    expect(known.takeLastUses().size).toBe(0);
  });
});
