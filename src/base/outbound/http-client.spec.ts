import { Destination } from './connector.js';
import { HttpClient, retryAfterMs } from './http-client.js';

const now = Date.UTC(2026, 0, 23, 10, 30, 0);

it.each<[string | string[] | undefined, number]>([
  [undefined, 0],
  ['', 0],
  ['0', 0],
  ['2', 2_000],
  [' 120 ', 120_000],
  [['3', '4'], 3_000],
  ['Fri, 23 Jan 2026 10:30:05 GMT', 5_000],
  ['Friday, 23-Jan-26 10:30:07 GMT', 7_000],
  ['Fri, 23 Jan 2026 10:29:00 GMT', 0],
  ['-1', 0],
  ['1.5', 0],
  ['soon', 0],
  ['9999999999', 0],
])('understands a Retry-After of %j', (header, expected) => {
  expect(retryAfterMs(header, now)).toBe(expected);
});

describe('a service that is configured', () => {
  it.each(['http://169.254.169.254', 'http://[::ffff:169.254.169.254]:8080', 'https://[fd00:ec2::254]'])(
    'is not reached at %s',
    async (origin) => {
      const client = new HttpClient({ origin, connections: 1, timeoutMs: 10_000, maxResponseBytes: 1_000 });
      await expect(client.ask({ method: 'GET', path: '/' })).rejects.toMatchObject({
        kind: 'unreachable',
        message: expect.stringContaining('leads to a link-local or metadata address'),
      });
      await client.close();
    },
  );

  it.each([
    ['whose name leads there', ['169.254.169.254'], 'link-local'],
    ['one of whose addresses is there', ['127.0.0.1', 'fe80::1'], 'link-local'],
    ['that is refused for another reason', ['127.0.0.9'], 'not that one'],
  ])('is not reached %s', async (_what, addresses, why) => {
    const url = new URL('http://cloud.test');
    const agent = new Destination(url, {
      lookup: async () => addresses.map((address) => ({ address, family: 4 })),
      obstacle: (address) => (address === '127.0.0.9' ? 'not that one' : undefined),
    }).dispatcher();
    const asked = agent.request({ origin: url.origin, path: '/', method: 'GET' });
    await expect(asked).rejects.toThrow(why);
    await agent.destroy();
  });
});
