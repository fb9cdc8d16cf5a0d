import { OutboundRules } from './outbound-rules.js';

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
    // A name leads to no keys of a cloud, whoever owns it; the address itself may be named.
    ['intra.example', 'intra.example', 80, '169.254.169.254', 'linkLocal address'],
    ['169.254.169.254', '169.254.169.254', 80, '169.254.169.254', undefined],
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
