import {
  HostRules,
  isForbidden,
  isInNoProxy,
  isOwnAddress,
  mayLeadTo,
  OutboundRules,
  parseHostRule,
} from './addresses.js';

const rules = (...entries: string[]): OutboundRules => {
  const parsed = OutboundRules.parse(entries);
  if (!parsed) throw new Error(`not understood: ${entries.join()}`);
  return parsed;
};

describe('OutboundRules', () => {
  it.each([
    ['127.0.0.1', 'loopback address'],
    ['0.0.0.0', 'unspecified address'],
    ['10.1.2.3', 'private address'],
    ['172.31.0.1', 'private address'],
    ['192.168.0.1', 'private address'],
    ['169.254.169.254', 'linkLocal address'],
    ['100.64.0.1', 'carrierGradeNat address'],
    ['198.18.0.1', 'reserved address'],
    ['224.0.0.1', 'multicast address'],
    ['255.255.255.255', 'broadcast address'],
    ['::', 'unspecified address'],
    ['::1', 'loopback address'],
    ['::7f00:1', 'unicast address'],
    ['::ffff:8.8.8.8', 'ipv4Mapped address'],
    ['64:ff9b::7f00:1', 'rfc6052 address'],
    ['64:ff9b:1::1', 'rfc6052 address'],
    ['2002:7f00:1::', '6to4 address'],
    ['2001::1', 'teredo address'],
    ['fe80::1', 'linkLocal address'],
    ['fec0::1', 'deprecatedSiteLocal address'],
    ['fd00::1', 'uniqueLocal address'],
    ['ff02::1', 'multicast address'],
    ['4000::1', 'unicast address'],
  ])('let nobody reach %s: %s', (address, obstacle) => {
    expect(rules().obstacle('host.example', 443, address)).toBe(obstacle);
    expect(rules().obstacle(address, 443, address)).toBe(obstacle);
  });

  it('let everybody reach public addresses, on the ports of the web', () => {
    expect(rules().obstacle('host.example', 80, '93.184.215.14')).toBeUndefined();
    expect(rules().obstacle('host.example', 443, '2606:4700::1111')).toBeUndefined();
    expect(rules().obstacle('host.example', 22, '93.184.215.14')).toBe('port 22');
  });

  it.each([
    ['intra.example', 'intra.example', 443, '10.0.0.1', undefined],
    ['intra.example', 'intra.example', 8080, '10.0.0.1', 'private address'],
    ['intra.example:8080', 'intra.example', 8080, '10.0.0.1', undefined],
    ['intra.example', 'other.example', 443, '10.0.0.1', 'private address'],
    ['*.example', 'a.b.example', 443, '10.0.0.1', undefined],
    ['10.0.0.0/8', 'any.example', 443, '10.0.0.1', undefined],
    ['10.0.0.0/8', 'any.example', 443, '11.0.0.1', undefined],
    ['10.0.0.0/8', 'any.example', 8080, '10.0.0.1', 'private address'],
    ['10.0.0.0/8:8080', 'any.example', 8080, '10.0.0.1', undefined],
    ['[fd00::]/8', 'any.example', 443, 'fd12::1', undefined],
    ['fd00::/8', 'any.example', 443, '10.0.0.1', 'private address'],
    ['127.0.0.1:9', '127.0.0.1', 9, '127.0.0.1', undefined],
    ['public.example:22', 'public.example', 22, '93.184.215.14', undefined],
  ])('%s: %s on port %d at %s meets %s', (entry, host, port, address, obstacle) => {
    expect(rules(entry).obstacle(host, port, address)).toBe(obstacle);
  });

  it.each(['10.0.0.0/33', '10.0.0.0/8:0', 'x/8', 'http://a', 'a b', '10.0.0.0/8:70000'])(
    'do not understand %j',
    (entry) => {
      expect(OutboundRules.parse(['good.example', entry])).toBeUndefined();
    },
  );
});

it.each<[string, string, number, boolean]>([
  ['', 'site.example', 443, false],
  ['*', 'site.example', 443, true],
  ['a.example, site.example', 'Site.example.', 8080, true],
  ['site.example', 'api.site.example', 443, true],
  ['.site.example', 'api.site.example', 443, true],
  ['site.example', 'mysite.example', 443, false],
  ['site.example:80', 'site.example', 443, false],
  ['10.0.0.0/8', '10.1.2.3', 8080, true],
  ['10.0.0.0/8', '11.1.2.3', 8080, false],
  ['10.0.0.0/8', 'site.example', 80, false],
  ['::1 fd00::/8', '[fd12::1]', 80, true],
])('NO_PROXY=%s has %s:%d: %s', (list, host, port, expected) => {
  expect(isInNoProxy(list, host, port)).toBe(expected);
});

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

  it('every name leads to a public address', () => {
    expect(mayLeadTo(covered, '93.184.216.34')).toBe(true);
    expect(mayLeadTo(covered, '2606:2800::1')).toBe(true);
  });
});

it.each([
  '169.254.169.254',
  '169.254.0.1',
  'fe80::1',
  'fe80::a9fe:a9fe',
  '::ffff:169.254.169.254',
  '::ffff:0:169.254.169.254',
  '::169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::a9fe:a9fe',
  '2002:a9fe:a9fe::1',
  '100.100.100.200',
  '::ffff:100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:0ec2:0:0:0:0:0:0254',
  'fd20:ce::254',
])('nothing connects to %s', (address) => {
  expect(isForbidden(address)).toBe(true);
});

it.each(['127.0.0.1', '10.0.0.1', '100.100.100.201', '::1', 'fd00::1', '64:ff9b::808:808', '93.184.216.34'])(
  'an operator may allow %s',
  (address) => {
    expect(isForbidden(address)).toBe(false);
  },
);

it.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::ffff:127.0.0.1', true],
  ['64:ff9b::7f00:1', true],
  ['0.0.0.0', true],
  ['::', true],
  ['::1', true],
  ['93.184.216.34', false],
  ['::ffff:93.184.216.34', false],
])('the own port at %s is this server: %s', (address, isOwn) => {
  expect(isOwnAddress(address, 3000, 3000)).toBe(isOwn);
  expect(isOwnAddress(address, 3001, 3000)).toBe(false);
});
