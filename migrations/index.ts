import { Base1764000010000 } from './0001-base.js';
import { Web1764000020000 } from './0002-web.js';
import { Records1764000030000 } from './0003-records.js';
import { Call1764000040000 } from './0004-call.js';
import { Runtime1764000050000 } from './0005-runtime.js';
import { Insight1764000060000 } from './0006-insight.js';
import { Agents1764000070000 } from './0007-agents.js';
import { AssistantParts1764000400000 } from './0040-assistant-parts.js';
import { Projects1764000410000 } from './0041-projects.js';
import { Findings1764000420000 } from './0042-findings.js';
import { Callers1764000430000 } from './0043-callers.js';
import { RunFigures1764000440000 } from './0044-run-figures.js';
import { AuditDetails1764000470000 } from './0047-audit-details.js';
import { ExecutionKinds1764000480000 } from './0048-execution-kinds.js';
import { McpServers1764000520000 } from './0052-mcp-servers.js';
import { AccessRules1764000530000 } from './0053-access-rules.js';
import { ConsoleSessions1764000540000 } from './0054-console-sessions.js';
import { Accounts1764000550000 } from './0055-accounts.js';
import { SpanClients1764000560000 } from './0056-span-clients.js';
import { PromptPrefix1764000570000 } from './0057-prompt-prefix.js';
import { UserIsolation1764000580000 } from './0058-user-isolation.js';
import { AccountsOfRevokedKeys1764000590000 } from './0059-accounts-of-revoked-keys.js';
import { SessionRenewals1764000600000 } from './0060-session-renewals.js';
import { RunSlices1764000610000 } from './0061-run-slices.js';
import { RevisionReasons1764000630000 } from './0063-revision-reasons.js';

/** Every migration in order; append only. The first of each wing made its tables as they were at 0038. */
export const migrations = [
  Base1764000010000,
  Web1764000020000,
  Records1764000030000,
  Call1764000040000,
  Runtime1764000050000,
  Insight1764000060000,
  Agents1764000070000,
  AssistantParts1764000400000,
  Projects1764000410000,
  Findings1764000420000,
  Callers1764000430000,
  RunFigures1764000440000,
  AuditDetails1764000470000,
  ExecutionKinds1764000480000,
  McpServers1764000520000,
  AccessRules1764000530000,
  ConsoleSessions1764000540000,
  Accounts1764000550000,
  SpanClients1764000560000,
  PromptPrefix1764000570000,
  UserIsolation1764000580000,
  AccountsOfRevokedKeys1764000590000,
  SessionRenewals1764000600000,
  RunSlices1764000610000,
  RevisionReasons1764000630000,
];
