import { Problem } from '../common/errors.js';
import { loadConfig } from '../config/app-config.js';
import { AccessPolicy, type Visit } from './access-policy.js';
import { assertSafeToExpose } from './assert-safe-to-expose.js';

const adminKey = 'a-key-of-enough-length';

const policy = (variables: NodeJS.ProcessEnv): AccessPolicy => new AccessPolicy(loadConfig(variables));
const visit = (headers: Visit['headers'] = {}, route = '/api/v1/tools', declaredPublic = false): Visit => ({
  headers: { host: 'localhost:3000', ...headers },
  route,
  declaredPublic,
});

function codeOf(action: () => unknown): string {
  try {
    action();
    return 'admitted';
  } catch (error) {
    return error instanceof Problem ? error.code : String(error);
  }
}

describe('AccessPolicy', () => {
  describe('on loopback without a key', () => {
    const open = policy({});

    it('admits everybody as anonymous with every scope', () => {
      const principal = open.admit(visit());
      expect(principal.userId).toBe('anonymous');
      expect([...principal.scopes]).toEqual(['tools:call', 'tools:admin']);
    });

    it('refuses strange hosts and origins', () => {
      expect(codeOf(() => open.admit(visit({ host: 'evil.example' })))).toBe('forbidden');
      expect(codeOf(() => open.admit(visit({ origin: 'http://evil.example' })))).toBe('forbidden');
      expect(codeOf(() => open.admit(visit({ host: 'evil.example' }, '/metrics')))).toBe('forbidden');
    });

    it('knows ALLOWED_HOSTS', () => {
      const lan = policy({ ALLOWED_HOSTS: 'tools.lan, Other.lan' });
      expect(lan.admit(visit({ host: 'other.lan:3000', origin: 'http://tools.lan' })).userId).toBe(
        'anonymous',
      );
    });
  });

  describe('with a key', () => {
    const closed = policy({ ADMIN_API_KEY: adminKey });

    it('admits its owner by either header, under any host', () => {
      expect(closed.admit(visit({ authorization: `Bearer ${adminKey}`, host: 'tools.example' })).userId).toBe(
        'admin',
      );
      expect(closed.admit(visit({ 'x-api-key': adminKey })).scopes.has('tools:admin')).toBe(true);
    });

    it.each(['/api/v1/tools', '/metrics', '/docs', '/nowhere'])(
      'refuses others at %s, also on loopback',
      (route) => {
        expect(codeOf(() => closed.admit(visit({}, route)))).toBe('unauthorized');
        expect(codeOf(() => closed.admit(visit({ 'x-api-key': 'wrong' }, route)))).toBe('unauthorized');
      },
    );

    it('refuses paths that no route matched', () => {
      expect(codeOf(() => closed.admit({ headers: {}, route: undefined, declaredPublic: false }))).toBe(
        'unauthorized',
      );
    });

    it('lets visitors of a public route in, without any scope', () => {
      const principal = closed.admit(visit({}, '/livez', true));
      expect(principal.scopes.size).toBe(0);
      expect(codeOf(() => closed.authorize(principal, visit({}, '/livez', true), ['tools:call']))).toBe(
        'admitted',
      );
      expect(codeOf(() => closed.authorize(principal, visit(), ['tools:call']))).toBe('forbidden');
    });

    it('opens /metrics and /docs only when told to, each for itself', () => {
      const metrics = policy({ ADMIN_API_KEY: adminKey, METRICS_PUBLIC: 'true' });
      const docs = policy({ ADMIN_API_KEY: adminKey, DOCS_PUBLIC: 'true' });
      expect(codeOf(() => metrics.admit(visit({}, '/metrics')))).toBe('admitted');
      expect(codeOf(() => metrics.admit(visit({}, '/docs')))).toBe('unauthorized');
      for (const route of ['/docs', '/docs/*', '/docs-json', '/openapi.json']) {
        expect(codeOf(() => docs.admit(visit({}, route)))).toBe('admitted');
      }
      for (const route of ['/metrics', '/docstore', '/x/docs', '/*']) {
        expect(codeOf(() => docs.admit(visit({}, route)))).toBe('unauthorized');
      }
    });
  });

  it('admits nobody off loopback without a key, should main have forgotten to ask', () => {
    const exposed = policy({ HOST: '0.0.0.0' });
    expect(codeOf(() => exposed.admit(visit()))).toBe('unauthorized');
  });

  it('admits everybody with AUTH_MODE=off', () => {
    const off = policy({ HOST: '0.0.0.0', AUTH_MODE: 'off' });
    expect(off.admit(visit({ host: 'anything.example' })).scopes.has('tools:admin')).toBe(true);
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
