import { nearestName } from './nearest-name.js';

const known = ['name', 'timeoutMs', 'keepAlive', 'inputSchema', 'args', 'env', 'allowNetwork', 'url'];

it.each([
  ['timeoutMS', 'timeoutMs'],
  ['timeout_ms', 'timeoutMs'],
  ['timeoutM', 'timeoutMs'],
  ['tiemoutMs', 'timeoutMs'],
  ['timeout', 'timeoutMs'],
  ['keep-alive', 'keepAlive'],
  ['inputShema', 'inputSchema'],
  ['inputSchemas', 'inputSchema'],
  ['allowNetwrok', 'allowNetwork'],
  ['arg', 'args'],
  ['nmae', 'name'],
  ['en', undefined],
  ['x', undefined],
  ['', undefined],
  ['workingDir', undefined],
  ['constructor', undefined],
])('%s: %s', (given, meant) => expect(nearestName(given, known)).toBe(meant));
