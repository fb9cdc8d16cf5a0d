import { compareVersions, isVersion } from './playbook.validators.js';

describe('semver', () => {
  it.each(['1', 'v1', '1.2', 'v1.2', '1.2.3', 'v1.2.3-rc.1', '0.0.1', '1.0.0-alpha-2', '1-0'])(
    'accepts %s',
    (text) => {
      expect(isVersion(text)).toBe(true);
    },
  );

  it.each([
    '',
    'v',
    '1.',
    '1.2.3.4',
    '01.2',
    '1.02',
    'latest',
    '1.2.3+build',
    '1.2.3-rc+build',
    '1.2-',
    '1.2-01',
    ' 1',
    '1\n',
    '-1',
    `1.0-${'a'.repeat(64)}`,
  ])('refuses %j', (text) => expect(isVersion(text)).toBe(false));

  it('follows the order of the semver specification', () => {
    const ordered = [
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
    ];
    ordered.push('1.0.0-rc.1', '1.0.0', '1.0.1', '1.2', '1.10.0', 'v2');
    for (const [at, version] of ordered.entries()) {
      for (const later of ordered.slice(at + 1)) {
        expect(compareVersions(version, later)).toBeLessThan(0);
        expect(compareVersions(later, version)).toBeGreaterThan(0);
      }
    }
  });

  it('reads left-out parts as zero', () => {
    expect(compareVersions('v1.2', '1.2.0')).toBe(0);
    expect(compareVersions('1', 'v1.0.0')).toBe(0);
  });

  it('does not compare what is no version', () => {
    expect(() => compareVersions('newest', '1.0.0')).toThrow('newest');
  });
});
