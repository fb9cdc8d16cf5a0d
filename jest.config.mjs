import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openCheckout } from './test/support/open-checkout.mjs';

const swc = JSON.parse(readFileSync(new URL('.swcrc', import.meta.url), 'utf8'));

const rootDir = openCheckout(fileURLToPath(new URL('.', import.meta.url)).replace(/\/$/, ''));

/** @type {import('jest').Config} */
export default {
  rootDir,
  testEnvironment: '<rootDir>/test/support/jest/shared-realm.cjs',
  roots: ['<rootDir>/src', '<rootDir>/test', '<rootDir>/migrations', '<rootDir>/console/src'],
  // `npm run test:rest` and `npm run test:nightly` run *.slow-spec.ts and *.nightly-spec.ts.
  testRegex: `\\.(${process.env['TEST_SUITES'] ?? 'spec|e2e-spec'})\\.ts$`,
  transform: {
    [`^${RegExp.escape(rootDir)}/(src|client|migrations)/.*(?<!spec)\\.ts$`]:
      '<rootDir>/test/support/jest/built-code.cjs',
    '/node_modules/': '<rootDir>/test/support/jest/built-code.cjs',
    '\\.[cm]?[jt]s$': [
      '@swc/jest',
      { ...swc, $schema: undefined, swcrc: false, sourceMaps: 'inline', module: { type: 'commonjs' } },
    ],
  },
  transformIgnorePatterns: ['<rootDir>/dist/'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts', '$1'],
    // Two builds in one package: its classes are those that the server has.
    '^nestjs-pino$': '<rootDir>/node_modules/nestjs-pino/dist/esm/index.js',
  },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  setupFilesAfterEnv: ['<rootDir>/test/support/property-seed.ts', '<rootDir>/test/support/after-env.ts'],
  // A guard against what never ends: on two cores that others use, too, a test that starts three servers takes half a minute.
  testTimeout: 120_000,
  // One more than cores: tests wait for processes and databases most of the time.
  maxWorkers: 3,
  // A worker has loaded the server and holds most of a gigabyte: Node itself takes above a second to end it.
  workerGracefulExitTimeout: 20_000,
};
