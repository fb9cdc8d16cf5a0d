import { nextVersion } from './draft.js';

it('proposes the least version that is greater', () => {
  expect(['1.2.3', 'v2', '1.4', '1.3.0-rc1', 'odd'].map(nextVersion)).toEqual([
    ...['1.2.4', '2.0.1', '1.4.1', '1.3.0', '1.0.0'],
  ]);
});
