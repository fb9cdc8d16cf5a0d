import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openCheckout } from './test/support/open-checkout.mjs';

const swc = JSON.parse(readFileSync(new URL('.swcrc', import.meta.url), 'utf8'));

/** Jest runs CommonJS: tests, sources and the packages below, which are ESM or load some, are compiled to it by swc. */
const esmPackages = [
  '@nestjs',
  'file-type',
  '@borewit',
  'strtok3',
  'token-types',
  'uint8array-extras',
  '@tokenizer',
  'content-disposition',
  'nestjs-pino',
  'stemmer',
  'cookie',
  '@x0k',
  '@opentelemetry/otlp-exporter-base',
];

/** @type {import('jest').Config} */
export default {
  rootDir: openCheckout(fileURLToPath(new URL('.', import.meta.url)).replace(/\/$/, '')),
  testEnvironment: 'node',
  roots: ['<rootDir>/src', '<rootDir>/test', '<rootDir>/migrations', '<rootDir>/console/src'],
  // *.slow-spec.ts are for `npm run test:slow` (jest.slow.config.mjs).
  testRegex: '\\.(spec|e2e-spec)\\.ts$',
  transform: {
    '\\.[cm]?[jt]s$': [
      '@swc/jest',
      { ...swc, $schema: undefined, swcrc: false, sourceMaps: 'inline', module: { type: 'commonjs' } },
    ],
  },
  // A package's own copy below another one counts, too.
  transformIgnorePatterns: [`/node_modules/(?!(.*/node_modules/)?(${esmPackages.join('|')})/)`],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts', '$1'],
    '^node:worker_threads$': '<rootDir>/test/support/worker-threads.ts',
  },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  setupFilesAfterEnv: ['<rootDir>/test/support/property-seed.ts', '<rootDir>/test/support/after-env.ts'],
  // A guard against what never ends: on two cores that others use, too, a test that starts three servers takes half a minute.
  testTimeout: 120_000,
  maxWorkers: 2,
  // With --coverage, which instruments every source and costs minutes: .ci/nightly does.
  collectCoverageFrom: ['src/**/*.ts', '!src/**/*.spec.ts', '!src/main.ts', '!client/**'],
  coverageReporters: ['text-summary', 'json-summary'],
  coverageThreshold: { global: { lines: 80 } },
};
