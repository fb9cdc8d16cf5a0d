import { Problem } from '../../base/common/errors.js';
import type { Principal } from '../contract/principal.js';
import { LocalCounters } from '../../base/counters/counters.js';
import { CallRates, networkOf } from './call-rates.js';

const anonymous: Principal = { userId: 'anonymous', scopes: new Set() };
const rates = (callsPerAddress = 0) =>
  new CallRates(
    { auth: { callsPerAddress } } as ConstructorParameters<typeof CallRates>[0],
    new LocalCounters(10),
  );
const refusal = (counted: Promise<void> | undefined): Promise<unknown> =>
  Promise.resolve(counted).then(
    () => 'counted',
    (error: Problem) => error,
  );

describe('CallRates', () => {
  it('lets exactly so many calls of a key pass, and says when the next may come', async () => {
    const counting = rates();
    const principal: Principal = { ...anonymous, keyId: 'a', rate: { calls: 3, per: 'second' } };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => refusal(counting.count({ principal, address: '::1' }))),
    );
    const refused = answers.filter((answer) => answer instanceof Problem);
    expect(refused).toHaveLength(7);
    expect(refused[0]).toMatchObject({
      code: 'rate_limited',
      detail: expect.stringContaining('3 calls a second'),
    });
    expect(refused[0]?.details.retryAfterMs).toBeGreaterThan(0);
    expect(refused[0]?.details.retryAfterMs).toBeLessThanOrEqual(1_000);
    const another = { ...principal, keyId: 'b' };
    expect(await refusal(counting.count({ principal: another }))).toBe('counted');
    const raised = { ...principal, rate: { calls: 11, per: 'second' } as const };
    expect(await refusal(counting.count({ principal: raised }))).toBe('counted');
  });

  it('counts nothing where there is no limit', async () => {
    const counting = rates();
    const withoutRate = { ...anonymous, keyId: 'admin' };
    for (const principal of [anonymous, withoutRate])
      for (let call = 0; call < 100; call++) await counting.count({ principal, address: '127.0.0.1' });
  });

  it('counts addresses without a key where CALLS_PER_ADDRESS is set, and keys by themselves', async () => {
    const counting = rates(1);
    const from = (address: string, principal = anonymous) => refusal(counting.count({ principal, address }));
    expect(await from('10.0.0.1')).toBe('counted');
    expect(await from('::ffff:10.0.0.1')).toMatchObject({
      detail: expect.stringContaining('CALLS_PER_ADDRESS'),
    });
    expect(await from('10.0.0.2')).toBe('counted');
    for (let call = 0; call < 3; call++)
      expect(await from('10.0.0.1', { ...anonymous, keyId: 'a' })).toBe('counted');
  });
});

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:DB8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('%s is counted as %s', (address, network) => expect(networkOf(address)).toBe(network));
