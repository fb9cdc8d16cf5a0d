import { hintFor } from './enforcement.js';
import { type SandboxPolicy } from './sandbox-policy.js';

const policy = { network: 'none' } as SandboxPolicy;

it.each([
  ['getaddrinfo ENOTFOUND api.example.com', /no network/],
  ["OSError: [Errno 30] Read-only file system: '/srv'", /allowedPaths/],
  ['sqlite3.OperationalError: unable to open database file', /allowedPaths/],
  ["fatal: detected dubious ownership in repository at '/srv/x'", /safe\.directory/],
])('%s', (error, hint) => {
  expect(hintFor(error, policy)).toMatch(hint);
});

// FileNotFoundError contains "eNotFound".
it.each([
  "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
  'ModuleNotFoundError: x',
  'reaccess',
])('%s gets no hint in a call', (error) => {
  expect(hintFor(error, policy)).toBeUndefined();
});

it.each([
  "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
  'ERROR: /srv/repo does not exist',
  "Cannot find module 'playwright-core'",
])('%s of a tool that does not start gets a hint', (error) => {
  expect(hintFor(error, policy, true)).toMatch(/allowedPaths/);
});

it('a precise hint comes first when a tool does not start', () => {
  const error = "FileNotFoundError, then OSError: Read-only file system: '/srv'";
  expect(hintFor(error, policy, true)).toMatch(/with permissions\.canWriteFiles/);
});
