import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  {
    ignores: [
      ...[
        'dist/',
        'console/dist/',
        'coverage/',
        '.toolkeeper/',
        'node_modules/',
        'tools/installed/.bundles/',
        'test/fixtures/plain-templates/',
      ],
      // As it is generated.
      'client/',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/no-extraneous-class': 'off',
      '@typescript-eslint/require-await': 'off',
      'no-console': 'error',
    },
  },
  {
    files: ['src/**/*.ts', 'migrations/**/*.ts', 'console/src/**/*.{ts,tsx}'],
    rules: {
      'max-lines': ['error', { max: 350 }],
      'max-lines-per-function': ['error', { max: 60 }],
    },
  },
  {
    files: ['console/src/**/*.{ts,tsx}'],
    ignores: ['console/src/**/*.spec.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'CallExpression > ArrowFunctionExpression.arguments CallExpression:matches([callee.name=/^use[A-Z]/], [callee.property.name=/^use[A-Z]/])',
          message: 'A hook must run at each rendering: call it outside of the callback.',
        },
      ],
    },
  },
  { files: ['src/**/*.spec.ts'], rules: { 'max-lines': 'off', 'max-lines-per-function': 'off' } },
  {
    files: ['src/**/*.ts'],
    // The connector: the standard variables of proxies are no settings of this server.
    ignores: [
      'src/base/config/**',
      'src/base/outbound/connector.ts',
      'src/cli/surroundings.ts',
      'src/**/*.spec.ts',
    ],
    rules: {
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Only src/base/config (and src/cli/surroundings.ts) reads the environment.',
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts', 'src/**/*.spec.ts'],
    rules: {
      // Bodies of HTTP replies are untyped by nature; the assertions are the types.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
    },
  },
  {
    files: ['**/*.{mjs,cjs,js}'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        require: 'readonly',
        module: 'writable',
        Buffer: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setImmediate: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        fetch: 'readonly',
        performance: 'readonly',
        AbortController: 'readonly',
        __dirname: 'readonly',
        globalThis: 'readonly',
        AbortSignal: 'readonly',
      },
    },
  },
  {
    // What runs within the page.
    files: ['test/browser/*.mjs'],
    languageOptions: {
      globals: { document: 'readonly', window: 'readonly', PerformanceObserver: 'readonly' },
    },
  },
);
