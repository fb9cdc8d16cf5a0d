import daily from './jest.config.mjs';

/** `npm run test:slow`: what takes minutes and need not be known with every change, in files named *.slow-spec.ts. */
export default { ...daily, testRegex: '\\.slow-spec\\.ts$', coverageThreshold: undefined };
