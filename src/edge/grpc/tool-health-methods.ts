import { Injectable, type Type } from '@nestjs/common';
import { IntersectionType, PickType } from '@nestjs/swagger';
import { CircuitAdviceQuery } from '../../call/circuits/circuit.dto.js';
import { CircuitsService } from '../../call/circuits/circuits.service.js';
import { HealthPeriodQuery } from '../../insight/tool-health/tool-health.dto.js';
import { ToolHealthService } from '../../insight/tool-health/tool-health.service.js';
import { ExecutionsQuery, PeriodQuery } from '../../records/executions/tool-metrics.dto.js';
import { ToolMetricsService } from '../../records/executions/tool-metrics.service.js';
import type { Principal } from '../../web/contract/principal.js';
import { AnyText, OptionalInt, OptionalMap, Text } from '../../web/rest/dto.js';

/** A request about one tool. */
class ToolName {
  @Text(256) readonly toolName!: string;
}
/** A query of the REST API, with the name of a tool. */
const forTool = <Query extends object>(query: Type<Query>) => IntersectionType(ToolName, query);
type ForTool<Query> = ToolName & Query;

/** Members of an execution that are filters in the REST API. */
const filters = ['status', 'userId', 'sessionId', 'requestId', 'errorType'] as const;
/** An execution that ran elsewhere, to be recorded. */
class Execution extends forTool(PickType(ExecutionsQuery, filters)) {
  @OptionalInt(0, 2_147_483_647) readonly executionTimeMs?: number;
  @AnyText({ required: false }) readonly errorMessage?: string;
  @OptionalMap({ additionalProperties: { type: 'string' } }) readonly metadata?: Record<string, string>;
}

/** Max characters of a stored error message. */
const maxErrorChars = 4_096;

/** The request type of a method, and the function that answers it. */
export type Method = readonly [Type<object>, (request: never, caller: Principal) => Promise<object>];

/** The service of docs/tool-health.proto: each method gives its REST route's answer. */
@Injectable()
export class ToolHealthMethods {
  readonly byName: Readonly<Record<string, Method>>;

  constructor(health: ToolHealthService, metrics: ToolMetricsService, circuits: CircuitsService) {
    this.byName = {
      CheckToolHealth: [
        forTool(HealthPeriodQuery),
        (query: ForTool<HealthPeriodQuery>, caller) =>
          health.within(caller).checkToolHealth(query.toolName, query.periodHours),
      ],
      CheckAllToolsHealth: [
        HealthPeriodQuery,
        (query: HealthPeriodQuery, caller) => health.within(caller).checkAllToolsHealth(query.periodHours),
      ],
      GetHealthSummary: [
        HealthPeriodQuery,
        (query: HealthPeriodQuery, caller) => health.within(caller).getHealthSummary(query.periodHours),
      ],
      GetToolHealth: [
        ToolName,
        (query: ToolName, caller) => health.within(caller).requireToolHealth(query.toolName),
      ],
      GetToolStats: [
        forTool(PeriodQuery),
        (query: ForTool<PeriodQuery>, caller) => metrics.stats(query.toolName, query, caller),
      ],
      ShouldCircuitBreak: [
        forTool(CircuitAdviceQuery),
        (query: ForTool<CircuitAdviceQuery>) => circuits.advice(query.toolName, query),
      ],
      RecordExecution: [
        Execution,
        async ({ errorMessage, ...execution }: Execution, { userId, keyId }) => {
          const metadata = { ...execution.metadata, keyId };
          const text = errorMessage?.slice(0, maxErrorChars);
          const row = await health.recordExecution({ userId, ...execution, errorMessage: text, metadata });
          return { ...row, recordedAt: row.recordedAt.toISOString() };
        },
      ],
    };
  }
}
