import { Initial1764000010000 } from './0001-initial.js';
import { ExecutionsByRequest1764000020000 } from './0002-executions-by-request.js';
import { McpServers1764000030000 } from './0003-mcp-servers.js';
import { RemoteMcpServers1764000040000 } from './0004-remote-mcp-servers.js';
import { Keys1764000050000 } from './0005-keys.js';
import { Spans1764000060000 } from './0006-spans.js';
import { SemanticErrors1764000070000 } from './0007-semantic-errors.js';
import { PayloadsAndGrades1764000080000 } from './0008-payloads-and-grades.js';
import { Bundles1764000090000 } from './0009-bundles.js';
import { Experiments1764000100000 } from './0010-experiments.js';
import { CallsOfFindings1764000110000 } from './0011-calls-of-findings.js';
import { AuditReasons1764000130000 } from './0013-audit-reasons.js';
import { PairsByKey1764000150000 } from './0015-pairs-by-key.js';
import { Isolation1764000180000 } from './0018-isolation.js';
import { OrderOfSchemas1764000200000 } from './0020-order-of-schemas.js';
import { HealthOfRows1764000210000 } from './0021-health-of-rows.js';
import { UiSessions1764000230000 } from './0023-ui-sessions.js';
import { CallCounters1764000260000 } from './0026-call-counters.js';
import { Assistant1764000270000 } from './0027-assistant.js';
import { MarkedExecutions1764000290000 } from './0029-marked-executions.js';
import { Replicas1764000300000 } from './0030-replicas.js';
import { CircuitsOfTheFleet1764000310000 } from './0031-circuits-of-the-fleet.js';
import { ToolConditions1764000320000 } from './0032-tool-conditions.js';
import { FleetEvents1764000360000 } from './0036-fleet-events.js';
import { KeptBudgets1764000370000 } from './0037-kept-budgets.js';
import { BegunCalls1764000380000 } from './0038-begun-calls.js';
import { AssistantParts1764000400000 } from './0040-assistant-parts.js';

/** Every migration in order; append only. */
export const migrations = [
  Initial1764000010000,
  ExecutionsByRequest1764000020000,
  McpServers1764000030000,
  RemoteMcpServers1764000040000,
  Keys1764000050000,
  Spans1764000060000,
  SemanticErrors1764000070000,
  PayloadsAndGrades1764000080000,
  Bundles1764000090000,
  Experiments1764000100000,
  CallsOfFindings1764000110000,
  AuditReasons1764000130000,
  PairsByKey1764000150000,
  Isolation1764000180000,
  OrderOfSchemas1764000200000,
  HealthOfRows1764000210000,
  UiSessions1764000230000,
  CallCounters1764000260000,
  Assistant1764000270000,
  MarkedExecutions1764000290000,
  Replicas1764000300000,
  CircuitsOfTheFleet1764000310000,
  ToolConditions1764000320000,
  FleetEvents1764000360000,
  KeptBudgets1764000370000,
  BegunCalls1764000380000,
  AssistantParts1764000400000,
];
