import { HostRules, mayLeadTo, parseHostRule } from './host-rules.js';

describe('parseHostRule', () => {
  it.each([
    ['api.example.com', { host: 'api.example.com', below: false }],
    ['API.example.com.', { host: 'api.example.com', below: false }],
    ['api.example.com:8443', { host: 'api.example.com', below: false, port: 8443 }],
    ['*.example.com', { host: 'example.com', below: true }],
    ['10.0.0.1:80', { host: '10.0.0.1', below: false, port: 80 }],
    ['::1', { host: '::1', below: false }],
    ['[::1]:8080', { host: '::1', below: false, port: 8080 }],
  ])('reads %s', (entry, rule) => {
    expect(parseHostRule(entry)).toEqual(rule);
  });

  it.each(['', '*', 'a b', 'http://a', 'a/b', 'a:0', 'a:70000', '*.*.a', 'a\r\nb'])('refuses %j', (entry) => {
    expect(parseHostRule(entry)).toBeUndefined();
  });
});

describe('HostRules', () => {
  const rules = new HostRules(['api.example.com', '*.wide.example', 'odd.example:8080', '10.0.0.1']);

  it.each([
    ['api.example.com', 443, true],
    ['API.EXAMPLE.COM.', 80, true],
    ['api.example.com', 22, false],
    ['x.api.example.com', 443, false],
    ['a.wide.example', 443, true],
    ['wide.example', 443, false],
    ['evilwide.example', 443, false],
    ['odd.example', 8080, true],
    ['odd.example', 443, false],
    ['10.0.0.1', 80, true],
    ['10.0.0.2', 80, false],
  ])('%s:%i: %s', (host, port, allowed) => {
    expect(rules.find(host, port) !== undefined).toBe(allowed);
  });
});

describe('mayLeadTo', () => {
  const listed = { host: 'a.example', below: false };
  const covered = { host: 'example', below: true };

  it.each(['10.1.2.3', '127.0.0.1', '192.168.1.1', '::1', 'fd00::1', '::ffff:10.0.0.1'])(
    'a name that a * covers does not lead to %s, a listed one may',
    (address) => {
      expect(mayLeadTo(covered, address)).toBe(false);
      expect(mayLeadTo(listed, address)).toBe(true);
    },
  );

  it.each(['169.254.169.254', 'fe80::1', '::ffff:169.254.169.254'])('no name leads to %s', (address) => {
    expect(mayLeadTo(listed, address)).toBe(false);
  });

  it('every name leads to a public address', () => {
    expect(mayLeadTo(covered, '93.184.216.34')).toBe(true);
    expect(mayLeadTo(covered, '2606:2800::1')).toBe(true);
  });
});
