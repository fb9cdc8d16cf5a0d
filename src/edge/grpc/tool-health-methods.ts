import { Injectable, type Type } from '@nestjs/common';
import { IntersectionType, PickType } from '@nestjs/swagger';
import { CircuitAdviceQuery as Advice } from '../../call/circuits/circuit.dto.js';
import { CircuitsService } from '../../call/circuits/circuits.service.js';
import { HealthPeriodQuery as Period } from '../../insight/tool-health/tool-health.dto.js';
import { ToolHealthService } from '../../insight/tool-health/tool-health.service.js';
import { ExecutionsQuery, PeriodQuery } from '../../records/executions/tool-metrics.dto.js';
import { ToolMetricsService } from '../../records/executions/tool-metrics.service.js';
import type { Principal } from '../../web/contract/principal.js';
import { AnyText, OptionalInt, OptionalMap, Text } from '../../web/rest/dto.js';

class ToolName {
  @Text(256) readonly toolName!: string;
}
const forTool = <Query extends object>(query: Type<Query>) => IntersectionType(ToolName, query);

const filters = ['status', 'userId', 'sessionId', 'requestId', 'errorType'] as const;
class Execution extends forTool(PickType(ExecutionsQuery, filters)) {
  @OptionalInt(0, 2_147_483_647) readonly executionTimeMs?: number;
  @AnyText({ required: false }) readonly errorMessage?: string;
  @OptionalMap({ additionalProperties: { type: 'string' } }) readonly metadata?: Record<string, string>;
}
type ForTool<Query> = ToolName & Query;

/** The request type of a method, and the function that answers it. */
export type Method = readonly [Type<object>, (request: never, caller: Principal) => Promise<object>];

/** The service of docs/tool-health.proto: each method gives its REST route's answer. */
@Injectable()
export class ToolHealthMethods {
  readonly byName: Readonly<Record<string, Method>>;

  constructor(health: ToolHealthService, metrics: ToolMetricsService, circuits: CircuitsService) {
    this.byName = {
      CheckToolHealth: [
        forTool(Period),
        (q: ForTool<Period>, by) => health.within(by).checkToolHealth(q.toolName, q.periodHours),
      ],
      CheckAllToolsHealth: [Period, (q: Period, by) => health.within(by).checkAllToolsHealth(q.periodHours)],
      GetHealthSummary: [Period, (q: Period, by) => health.within(by).getHealthSummary(q.periodHours)],
      GetToolHealth: [ToolName, (q: ToolName, by) => health.within(by).requireToolHealth(q.toolName)],
      GetToolStats: [forTool(PeriodQuery), (q: ForTool<PeriodQuery>, by) => metrics.stats(q.toolName, q, by)],
      ShouldCircuitBreak: [forTool(Advice), (q: ForTool<Advice>) => circuits.advice(q.toolName, q)],
      RecordExecution: [
        Execution,
        async ({ errorMessage, ...execution }: Execution, { userId, keyId }) => {
          const metadata = { ...execution.metadata, keyId };
          const text = errorMessage?.slice(0, 4_096);
          const row = await health.recordExecution({ userId, ...execution, errorMessage: text, metadata });
          return { ...row, recordedAt: row.recordedAt.toISOString() };
        },
      ],
    };
  }
}
