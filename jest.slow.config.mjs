import daily from './jest.config.mjs';

/**
 * `npm run test:slow`: what takes minutes and need not be known with every change, in files named *.slow-spec.ts, and the
 * sandbox in every tier.
 */
export default {
  ...daily,
  testRegex: ['\\.slow-spec\\.ts$', 'integration/sandbox\\.spec\\.ts$'],
  globals: { everyTier: true },
};
