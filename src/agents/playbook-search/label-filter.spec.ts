import fc from 'fast-check';
import { clashOf, normalisedLabels } from './label-filter.js';
import type { PlaybookLabels } from '../playbooks/playbook.types.js';

const match = (labels: PlaybookLabels, asked: Record<string, string>) =>
  clashOf(labels, normalisedLabels(asked)) === undefined;

describe('labelsMatch', () => {
  it.each<[string, PlaybookLabels, Record<string, string>, boolean]>([
    ['nothing asked', { environment: 'staging' }, {}, true],
    ['a playbook without labels', {}, { environment: 'production' }, true],
    ['the same value', { environment: 'production' }, { environment: 'production' }, true],
    ['another value', { environment: 'staging' }, { environment: 'production' }, false],
    ['a key that the playbook does not carry', { priority: 'P1' }, { team: 'payments' }, true],
    ['other case in key and value', { Environment: 'PRODUCTION' }, { environment: 'production' }, true],
    ['other case on the other side', { environment: 'production' }, { ENVIRONMENT: 'Production' }, true],
    ['any value of the playbook', { environment: '*' }, { environment: 'production' }, true],
    ['any value of the caller', { environment: 'staging' }, { environment: '*' }, true],
    ['one of several values', { priority: ['P0', 'P1'] }, { priority: 'p1' }, true],
    ['none of several values', { priority: ['P0', 'P1'] }, { priority: 'P3' }, false],
    ['a star among several values', { priority: ['P0', '*'] }, { priority: 'P3' }, true],
    ['an empty list, which matches nothing', { priority: [] }, { priority: 'P3' }, false],
    ["kubernaut's prefix", { environment: 'staging' }, { 'kubernaut.io/environment': 'production' }, false],
    [
      'a key that is spelt in two ways, of which one value does not match',
      { environment: 'staging' },
      { environment: 'production', 'kubernaut.io/environment': 'staging' },
      false,
    ],
    [
      'a key that is spelt in two ways, and a playbook for both values',
      { environment: ['staging', 'production'] },
      { environment: 'production', 'kubernaut.io/environment': 'staging' },
      true,
    ],
    [
      'one match and one mismatch',
      { environment: '*', priority: 'P0' },
      { environment: 'x', priority: 'P1' },
      false,
    ],
  ])('%s', (_case, labels, asked, expected) => {
    expect(match(labels, asked)).toBe(expected);
  });

  it('never lets a playbook through that carries another value of an asked key', () => {
    const key = fc.constantFrom('environment', 'priority', 'cost-tier', 'team');
    const value = fc.constantFrom('a', 'b', 'c', '*');
    fc.assert(
      fc.property(fc.dictionary(key, value), fc.dictionary(key, value), (labels, asked) => {
        const clash = Object.keys(labels).some(
          (each) =>
            each in asked && labels[each] !== '*' && asked[each] !== '*' && labels[each] !== asked[each],
        );
        expect(match(labels, asked)).toBe(!clash);
      }),
    );
  });
});
