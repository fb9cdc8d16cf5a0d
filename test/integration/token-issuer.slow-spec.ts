import { randomUUID } from 'node:crypto';
import { OutboundRules } from '../../src/base/outbound/addresses.js';
import { TokenIssuer } from '../../src/web/auth/tokens/token-issuer.js';
import { startIssuer, type TestIssuer } from '../support/oidc-issuer.js';

// real: HTTP, signatures; mock: the clock, where a key set grows old

let issuer: TestIssuer;
let verifier: TokenIssuer;

const outbound = OutboundRules.parse([]) as OutboundRules;
const verifierOf = (of: string, more = {}): TokenIssuer =>
  new TokenIssuer({ issuer: of, audiences: ['toolkeeper'], ...more }, outbound);
const reads = (): number => issuer.asked.filter((path) => path === '/jwks').length;
const after = (ms: number): void =>
  void jest.spyOn(performance, 'now').mockReturnValue(performance.now() + ms);

beforeEach(async () => {
  issuer = await startIssuer();
  verifier = verifierOf(issuer.issuer);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await issuer.close();
});

it('keys are read at the first token', async () => {
  expect(issuer.asked).toEqual([]);
  await verifier.verify(await issuer.token());
  await verifier.verify(await issuer.token());
  expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/jwks']);
});

it('10,000 tokens with unknown keys ask the issuer once more at most', async () => {
  await verifier.verify(await issuer.token());
  const [, payload, signature] = (await issuer.token()).split('.');
  for (let n = 0; n < 10_000; n++) {
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: randomUUID() })).toString('base64url');
    await expect(verifier.verify(`${header}.${payload}.${signature}`)).rejects.toThrow(/no applicable key/);
  }
  expect(reads()).toBe(1);
});

it('a key that was rotated in is taken, and the one that was rotated out is not', async () => {
  const old = await issuer.token();
  await verifier.verify(old);
  await issuer.rotate();
  const fresh = await issuer.token();
  after(31_000);
  await expect(verifier.verify(fresh)).resolves.toMatchObject({ claims: { sub: 'alice' } });
  await expect(verifier.verify(old)).rejects.toThrow(/no applicable key/);
});

it('the last keys stay while the issuer is away', async () => {
  await verifier.verify(await issuer.token());
  issuer.setAway(true);
  after(3_600_000);
  await expect(verifier.verify(await issuer.token())).resolves.toMatchObject({ claims: { sub: 'alice' } });
});

it('an issuer that is away at the first token is not asked by each token', async () => {
  issuer.setAway(true);
  for (let n = 0; n < 100; n++)
    await expect(verifier.verify(await issuer.token())).rejects.toMatchObject({ kind: 'unreachable' });
  expect(issuer.asked.length).toBe(1);
});

it.each([
  ['names another issuer', { issuer: 'https://evil.example' }, /another issuer/],
  [
    'leads to a private address of another origin',
    { jwks_uri: 'http://10.0.0.1/jwks' },
    /private|unreachable/,
  ],
  ['names no address of keys', { jwks_uri: undefined }, /lacks an address/],
  ['names an address of keys that is no URL', { jwks_uri: 'none' }, /lacks an address/],
  ['leads to the metadata service of a cloud', { jwks_uri: 'http://169.254.169.254/jwks' }, /metadata/],
])('metadata that %s is refused', async (_what, changes, message) => {
  const odd = await startIssuer(changes);
  try {
    await expect(verifierOf(odd.issuer).verify(await odd.token())).rejects.toThrow(message);
  } finally {
    await odd.close();
  }
});
