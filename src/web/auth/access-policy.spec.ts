import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeTestFolder } from '../../../test/support/test-folder.js';
import { Problem } from '../../base/common/errors.js';
import { loadConfig } from '../../base/config/app-config.js';
import { type Principal, scopes } from '../contract/principal.js';
import { AccessPolicy, type Route } from './access-policy.js';
import { AdminKey, assertSafeToExpose, KnownKeys } from './known-keys.js';
import { KnownSessions } from './known-sessions.js';
import { Sessions } from './sessions.js';
import { AccessTokens } from './tokens/access-tokens.js';

const adminKey = 'a-key-of-enough-length';

const folder = makeTestFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Keys are looked up at once; a promise comes of access tokens alone. */
function policy(variables: NodeJS.ProcessEnv): { admit: (...args: Visiting) => Principal } {
  const config = loadConfig({ TOOLKEEPER_DATA_DIR: folder, ...variables });
  const adminKey = new AdminKey(config);
  const keys = new KnownKeys(adminKey);
  const tokens = new AccessTokens(config);
  const sessions = new Sessions(config, adminKey, keys, new KnownSessions(tokens, keys));
  const made = new AccessPolicy(config, adminKey, keys, sessions, tokens);
  return { admit: (...visiting) => made.admit(...visiting) as Principal };
}
type Visiting = Parameters<AccessPolicy['admit']>;
type Headers = Parameters<AccessPolicy['admit']>[0]['headers'];
type Rest = Route & {
  readonly method?: string;
  readonly protocol?: 'http' | 'https';
  readonly httpVersion?: string;
};
const visit = (
  headers: Headers = {},
  { method = 'GET', protocol = 'http', httpVersion = '1.1', ...route }: Rest = {},
): Parameters<AccessPolicy['admit']> => [
  { headers: { host: 'localhost:3000', ...headers }, method, protocol, raw: { httpVersion } },
  { url: '/api/v1/tools', ...route },
];

function codeOf(action: () => unknown): string {
  try {
    action();
    return 'admitted';
  } catch (error) {
    return error instanceof Problem ? error.code : String(error);
  }
}

describe('AccessPolicy', () => {
  describe('on loopback without ADMIN_API_KEY', () => {
    const open = policy({});

    it('admits whoever has no key as anonymous, to read and to call', () => {
      const principal = open.admit(...visit());
      expect(principal.userId).toBe('anonymous');
      expect([...principal.scopes]).toEqual(['tools:call', 'metrics:read', 'traces:write', 'traces:read']);
      expect(principal.projects).toEqual(['default']);
      expect(open.admit(...visit({}, { scopes: ['tools:call'] }))).toBe(principal);
    });

    it('asks them for the key where more is needed, and says where it is, but not what it is or where that folder lies', () => {
      const asking = (): unknown => open.admit(...visit({}, { scopes: ['tools:admin'] }));
      expect(codeOf(asking)).toBe('unauthorized');
      expect(asking).toThrow('TOOLKEEPER_DATA_DIR/admin.key');
      expect(asking).not.toThrow(folder);
    });

    it('admits the owner of the key that it made, under any host and origin', () => {
      const key = readFileSync(join(folder, 'admin.key'), 'utf8').trim();
      const headers = { 'x-api-key': key, host: 'tools.example', origin: 'https://evil.example' };
      const principal = open.admit(...visit(headers, { method: 'DELETE' }));
      expect([principal.userId, ...principal.scopes]).toEqual(['admin', ...scopes]);
    });

    it('takes nobody with a wrong key for anonymous', () => {
      expect(codeOf(() => open.admit(...visit({ 'x-api-key': 'wrong' })))).toBe('unauthorized');
      expect(codeOf(() => open.admit(...visit({ authorization: 'Bearer wrong' })))).toBe('unauthorized');
    });

    it('refuses untrusted hosts and origins', () => {
      expect(codeOf(() => open.admit(...visit({ host: 'evil.example' })))).toBe('forbidden');
      expect(codeOf(() => open.admit(...visit({ host: '127.999.0.1' })))).toBe('forbidden');
      expect(codeOf(() => open.admit(...visit({ origin: 'http://evil.example' })))).toBe('forbidden');
      expect(codeOf(() => open.admit(...visit({ host: 'evil.example' }, { url: '/metrics' })))).toBe(
        'forbidden',
      );
    });

    it('knows ALLOWED_HOSTS', () => {
      const lan = policy({ ALLOWED_HOSTS: 'tools.lan, Other.lan' });
      const headers = { host: 'other.lan:3000', origin: 'http://other.lan:3000' };
      for (const method of ['GET', 'POST'])
        expect(lan.admit(...visit(headers, { method })).userId).toBe('anonymous');
    });

    it('lets no page of another host write, whether ALLOWED_HOSTS names it or not', () => {
      const lan = policy({ ALLOWED_HOSTS: 'tools.lan, other.lan' });
      const headers = { host: 'other.lan:3000', origin: 'http://tools.lan' };
      for (const site of [{}, { 'sec-fetch-site': 'cross-site' }])
        expect(codeOf(() => lan.admit(...visit({ ...headers, ...site }, { method: 'POST' })))).toBe(
          'forbidden',
        );
    });
  });

  describe('without a key, through a proxy', () => {
    const proxied = { 'x-forwarded-for': '203.0.113.9' };
    const asked = (variables: NodeJS.ProcessEnv, headers: Headers, rest?: Rest): string =>
      codeOf(() => policy(variables).admit(...visit(headers, rest)));

    it.each([
      [{ forwarded: 'for=203.0.113.9' }, {}],
      [{ 'x-forwarded-for': '127.0.0.1' }, {}],
      [{ 'x-forwarded-proto': 'https' }, {}],
      [{ 'x-forwarded-host': 'localhost' }, {}],
      [{ 'x-real-ip': '127.0.0.1' }, {}],
      [{ via: '1.1 proxy' }, {}],
      [{}, { httpVersion: '1.0' }],
    ])('%j %j: is asked for one', (headers, rest) => {
      for (const url of ['/api/v1/tools', '/metrics', '/docs', '/nowhere'])
        expect([url, asked({}, headers, { ...rest, url })]).toEqual([url, 'unauthorized']);
      expect(asked({}, headers, { ...rest, url: '/livez', public: true })).toBe('admitted');
      expect(asked({ AUTH_MODE: 'off' }, headers, rest)).toBe('admitted');
    });

    it('is told what to do', () => {
      expect(() => policy({}).admit(...visit(proxied))).toThrow(
        /x-forwarded-for.*x-api-key.*TRUST_PROXY=true.*ALLOWED_HOSTS.*behind-a-proxy\.md/,
      );
    });

    it.each([
      [{ TRUST_PROXY: 'true' }, 'localhost:3000', 'unauthorized'],
      [{ TRUST_PROXY: 'true' }, 'tools.lan', 'unauthorized'],
      [{ ALLOWED_HOSTS: 'tools.lan' }, 'tools.lan', 'unauthorized'],
      [{ TRUST_PROXY: 'true', ALLOWED_HOSTS: 'tools.lan' }, 'tools.lan', 'admitted'],
      [{ TRUST_PROXY: 'true', ALLOWED_HOSTS: 'tools.lan' }, 'localhost:3000', 'unauthorized'],
    ])('with %j under the name %s: %s', (variables, host, outcome) =>
      expect(asked(variables, { ...proxied, host })).toBe(outcome),
    );

    it('a key opens what it opens elsewhere', () => {
      const key = readFileSync(join(folder, 'admin.key'), 'utf8').trim();
      expect(asked({}, { ...proxied, host: 'tools.lan', 'x-api-key': key }, { scopes: ['admin'] })).toBe(
        'admitted',
      );
    });
  });

  describe.each([
    ['on loopback', {}],
    ['with AUTH_MODE=off', { AUTH_MODE: 'off', HOST: '0.0.0.0' }],
  ])('a request without a key %s', (_where, variables) => {
    const asked = (headers: Headers, more: Rest = {}): string =>
      codeOf(() => policy(variables).admit(...visit(headers, { method: 'POST', ...more })));

    it.each([
      ['of no page', {}],
      ['of the own page', { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-origin' }],
      ['of the address bar', { 'sec-fetch-site': 'none' }],
    ])('%s may write', (_what, headers) => expect(asked(headers)).toBe('admitted'));

    it.each([
      ['of another port', { origin: 'http://localhost:8080' }],
      ['of another scheme', { origin: 'https://localhost:3000' }],
      ['of another name of this machine', { origin: 'http://127.0.0.1:3000' }],
      ['of no origin that is told', { origin: 'null' }],
      ['of another site', { 'sec-fetch-site': 'cross-site' }],
      ['of another port, by its distance', { 'sec-fetch-site': 'same-site' }],
      [
        'of a page that says one thing and its browser another',
        { origin: 'http://localhost:3000', 'sec-fetch-site': 'cross-site' },
      ],
    ])('%s may not', (_what, headers) => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'QUERY'])
        expect([method, asked(headers, { method })]).toEqual([method, 'forbidden']);
    });

    it('behind a proxy that is trusted the origin is what the browser sees', () => {
      const headers = { host: 'localhost', origin: 'https://localhost' };
      expect(asked(headers, { protocol: 'https' })).toBe('admitted');
      expect(asked(headers)).toBe('forbidden');
    });
  });

  describe('with a key', () => {
    const closed = policy({ ADMIN_API_KEY: adminKey });

    it('admits its owner by either header, under any host', () => {
      expect(
        closed.admit(...visit({ authorization: `Bearer ${adminKey}`, host: 'tools.example' })).userId,
      ).toBe('admin');
      expect(closed.admit(...visit({ 'x-api-key': adminKey })).scopes.has('tools:admin')).toBe(true);
    });

    it.each(['/api/v1/tools', '/metrics', '/docs', '/nowhere'])(
      'refuses others at %s, also on loopback',
      (url) => {
        expect(codeOf(() => closed.admit(...visit({}, { url })))).toBe('unauthorized');
        expect(codeOf(() => closed.admit(...visit({ 'x-api-key': 'wrong' }, { url })))).toBe('unauthorized');
      },
    );

    it('refuses paths that no route matched', () => {
      expect(codeOf(() => closed.admit(visit()[0], {}))).toBe('unauthorized');
    });

    it('lets visitors of a public route in, without any scope', () => {
      const probe = visit({}, { url: '/livez', public: true });
      expect(closed.admit(...probe).scopes.size).toBe(0);
    });

    it('opens /metrics and /docs only when told to, each for itself', () => {
      const metrics = policy({ ADMIN_API_KEY: adminKey, PUBLIC: 'metrics' });
      const docs = policy({ ADMIN_API_KEY: adminKey, PUBLIC: 'docs' });
      expect(codeOf(() => metrics.admit(...visit({}, { url: '/metrics' })))).toBe('admitted');
      expect(codeOf(() => metrics.admit(...visit({}, { url: '/docs' })))).toBe('unauthorized');
      for (const url of ['/docs', '/docs/*', '/docs-json', '/openapi.json']) {
        expect(codeOf(() => docs.admit(...visit({}, { url })))).toBe('admitted');
      }
      for (const url of ['/metrics', '/docstore', '/x/docs', '/*']) {
        expect(codeOf(() => docs.admit(...visit({}, { url })))).toBe('unauthorized');
      }
    });
  });

  it('admits nobody off loopback without a key, should main have forgotten to ask', () => {
    const exposed = policy({ HOST: '0.0.0.0' });
    expect(codeOf(() => exposed.admit(...visit()))).toBe('unauthorized');
  });

  it('admits everybody with AUTH_MODE=off', () => {
    const off = policy({ HOST: '0.0.0.0', AUTH_MODE: 'off' });
    expect(off.admit(...visit({ host: 'anything.example' })).scopes.has('tools:admin')).toBe(true);
  });
});

describe('assertSafeToExpose', () => {
  it('refuses a reachable host without a key, naming both ways out', () => {
    expect(() => assertSafeToExpose(loadConfig({ HOST: '0.0.0.0' }))).toThrow(
      /0\.0\.0\.0.*ADMIN_API_KEY.*AUTH_MODE=off/,
    );
  });

  it.each([
    { HOST: '127.0.0.1' },
    { HOST: 'localhost' },
    { HOST: '::1' },
    { HOST: '0.0.0.0', ADMIN_API_KEY: adminKey },
    { HOST: '0.0.0.0', AUTH_MODE: 'off' },
  ])('accepts %j', (variables) => expect(() => assertSafeToExpose(loadConfig(variables))).not.toThrow());
});
