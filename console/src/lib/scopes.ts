import type { SessionView } from './api-types.js';

export type Scope = SessionView['scopes'][number];

/** Each scope in plain words, from the narrowest to the widest. */
export const scopeTexts: Readonly<Record<Scope, string>> = {
  'tools:call': 'see and call tools, over REST and MCP; read playbooks',
  'metrics:read': 'see executions, health and events; read registrations of tools over REST',
  'traces:write': 'send spans',
  'traces:read': 'read spans',
  'experiments:write': 'store experiments and run them, which calls the language model of the server',
  'playbooks:write': 'store playbooks and change their status',
  'tools:admin':
    'register, change and try tools; logs, circuits and budgets; includes tools:call and metrics:read',
  'audit:read': 'read the audit',
  admin: 'make and revoke keys, and everything else',
};

export const allScopes = Object.keys(scopeTexts) as Scope[];
