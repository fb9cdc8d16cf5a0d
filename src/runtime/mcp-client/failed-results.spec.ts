import { isInputError, isRefused, isUnauthorized } from './failed-results.js';

it.each([
  ['GitHub', 'failed to get issue: GET https://api.github.com/repos/o/r/issues/99: 404 Not Found []'],
  ['GitHub', 'MCP error -32603: GitHub API Error: Validation Failed: Pull request is closed'],
  ['GitHub', 'Resource not accessible by integration'],
  ['Slack', '{"ok":false,"error":"channel_not_found"}'],
  ['Slack', '{"ok":false,"error":"is_archived"}'],
  ['Slack', '{"ok":false,"error":"not_in_channel"}'],
  ['Slack', '{"ok":false,"error":"missing_scope","needed":"channels:history"}'],
  ['filesystem', "ENOENT: no such file or directory, open '/srv/reports/a.txt'"],
  ['filesystem', 'Error: Access denied - path outside allowed directories: /etc/passwd not in /srv/reports'],
  ['filesystem', "EACCES: permission denied, open '/srv/reports/b.txt'"],
  ['Sentry', '**Input Error**\n\nAPI error (404): The requested resource does not exist'],
  ['Sentry', 'API error (403): You do not have permission to perform this action.'],
  [
    'Notion',
    '{"status":404,"code":"object_not_found","message":"Could not find page with ID: 1. Make sure …"}',
  ],
  [
    'Notion',
    '{"status":403,"code":"restricted_resource","message":"Insufficient permissions for this endpoint."}',
  ],
  ['Notion', "Can't edit block that is archived. You must unarchive the block before editing."],
  ['kubernetes', 'Error from server (NotFound): pods "web-1" not found'],
  ['kubernetes', 'pods is forbidden: User "system:serviceaccount:a:b" cannot list resource "pods"'],
  [
    'Stripe',
    '{"type":"invalid_request_error","code":"resource_missing","message":"No such customer: \'cus_1\'"}',
  ],
  ['Stripe', 'This payment link is expired and was closed.'],
  ['Jira', '{"errorMessages":["Issue does not exist or you do not have permission to see it."],"errors":{}}'],
  ['Jira', 'HTTP 403: You are not authorized to perform this operation'],
  ['Postgres', 'relation "orders2" does not exist'],
  ['Postgres', 'permission denied for table payroll'],
  ['Google Calendar', 'Error: Not Found'],
  ['Google Calendar', '{"code":410,"message":"Resource has been deleted"}'],
  ['Google Calendar', 'Forbidden: you need to have writer access to this calendar.'],
  ['a shop', 'The shop is closed'],
  ['a shop', 'closed'],
])('%s refuses: %s', (_server, text) => {
  expect(isRefused(text)).toBe(true);
  expect(isInputError(text)).toBe(false);
});

it.each([
  'connect ECONNREFUSED 127.0.0.1:5432',
  'getaddrinfo ENOTFOUND api.github.com',
  'Connection terminated unexpectedly',
  'The connection was closed',
  'Connection is closed',
  'connection refused: permission denied',
  'socket hang up',
  'socket closed',
  'Internal error',
  'Internal Server Error: session not found',
  'Request timed out',
  'timeout of 30000ms exceeded',
  'Error: Timeout: page not found within 30 s',
  'HTTP 500: something went wrong',
  'API error (502): Bad Gateway',
  '503 Service Unavailable',
  'upstream unavailable, not allowed to retry',
  'bash: git: command not found',
  "Error: Cannot find module 'pg'",
  "ModuleNotFoundError: No module named 'requests'; module not found",
  'Traceback (most recent call last): FileNotFoundError: No such file or directory',
  'panic: runtime error: invalid memory address',
  "TypeError: Cannot read properties of undefined (reading 'id')",
  'out of memory',
  'the warehouse burns',
  '',
])('a fault stays one: %s', (text) => expect(isRefused(text)).toBe(false));

it('looks at the beginning of a text alone', () => {
  expect(isRefused(`${'x'.repeat(3_000)} not found`)).toBe(false);
});

it.each([
  ['Request failed with status code 401', true],
  ['GET https://gitlab.example/api/v4/user: 401 Unauthorized', true],
  ['Bad credentials', true],
  ['{"error":"invalid_token"}', true],
  ['{"ok":false,"error":"token_revoked"}', true],
  ['The access token has expired', true],
  ['403 Forbidden', false],
  ['issue 4011 is closed', false],
  ['Unexpected token < in JSON', false],
])('%s is of a token that is not taken: %s', (text, expected) => expect(isUnauthorized(text)).toBe(expected));
