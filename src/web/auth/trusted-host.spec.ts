import fc from 'fast-check';
import { comesFromTrustedHost, hostName } from './access-policy.js';

describe('hostName', () => {
  it.each([
    ['localhost:3000', 'localhost'],
    ['LOCALHOST', 'localhost'],
    ['localhost.:80', 'localhost'],
    ['[::1]:3000', '[::1]'],
    ['[::1]', '[::1]'],
    ['tools.example.com:443', 'tools.example.com'],
  ])('%s is %s', (header, name) => expect(hostName(header)).toBe(name));

  it.each([undefined, '', ':3000', 'user@localhost', 'localhost/x', 'localhost:3000:1', 'a b', '[::1'])(
    '%s is no host',
    (header) => expect(hostName(header)).toBeUndefined(),
  );
});

describe('comesFromTrustedHost', () => {
  const asked = (host?: string, origin?: string): boolean =>
    comesFromTrustedHost({ host, origin }, ['tools.lan']);

  it.each([
    'localhost',
    'localhost:3000',
    '127.0.0.1:3000',
    '127.8.9.1',
    '[::1]:3000',
    'app.localhost',
    'Tools.LAN:80',
  ])('believes Host %s', (host) => expect(asked(host)).toBe(true));

  it.each([
    undefined,
    'evil.example',
    'localhost.evil.example',
    'notlocalhost',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '0.0.0.0',
    '127.999.0.1',
    '127.0.0.256',
    '127.1',
    '127.0.0.1.1',
  ])('does not believe Host %s', (host) => expect(asked(host)).toBe(false));

  it.each(['http://localhost:3000', 'https://127.0.0.1', 'http://[::1]:8080', 'https://tools.lan'])(
    'believes Origin %s',
    (origin) => expect(asked('localhost', origin)).toBe(true),
  );

  it.each([
    'null',
    '',
    'http://evil.example',
    'http://localhost.evil.example',
    'http://localhost@evil.example',
    'file://',
    'localhost',
  ])('does not believe Origin %s', (origin) => expect(asked('localhost', origin)).toBe(false));

  it('never believes a name under somebody else’s domain', () => {
    fc.assert(
      fc.property(fc.domain(), fc.constantFrom('localhost', '127.0.0.1', 'tools.lan'), (domain, trusted) => {
        expect(asked(`${trusted}.${domain}`)).toBe(false);
        expect(asked('localhost', `https://${trusted}.${domain}`)).toBe(false);
      }),
    );
  });
});
