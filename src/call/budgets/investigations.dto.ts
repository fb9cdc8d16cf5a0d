import {
  Example,
  Limit,
  NullableText,
  OptionalInt,
  OptionalMap,
  PageOf,
  ProjectQuery,
  SentBackBy,
  Text,
} from '../../web/rest/dto.js';
import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { Reason, ReasonQuery } from '../../web/auth/audit/audit.dto.js';

const maxLimit = 1_000_000;

export class InvestigationParams {
  @Text(256, {
    example: 'inc-2024-118',
    description:
      "The agent's id of the investigation; `caller ` and issuer#subject, or `caller client ` and issuer#client: the budget of a caller, by an access rule",
  })
  readonly id!: string;
}

export class ListInvestigationsQuery extends ProjectQuery {
  @Limit(100) readonly limit!: number;
}

export class ResetInvestigationQuery extends IntersectionType(ProjectQuery, ReasonQuery) {}

export class RaiseBudgetBody {
  @OptionalInt(0, maxLimit, {
    example: 20,
    description: 'Calls for each tool that has no limit of its own; 0: no limit',
  })
  readonly callsPerTool?: number;
  @OptionalMap({
    additionalProperties: { type: 'integer', minimum: 0, maximum: maxLimit },
    maxProperties: 1_000,
    example: { get_playbooks: 30 },
    description: "Calls by tool name, over the tool's own limit; 0: no limit",
  })
  readonly tools?: Record<string, number>;
  @Reason() readonly reason?: string;
}

export class ToolBudgetView {
  @Example('get_playbooks') readonly tool!: string;
  @ApiProperty({ type: 'integer', example: 10, description: '0: no limit' }) readonly limit!: number;
  @ApiProperty({ type: 'integer', example: 3 }) readonly used!: number;
  @ApiProperty({ type: 'integer', nullable: true, example: 7, description: 'null: no limit' })
  readonly remaining!: number | null;
}

@SentBackBy(RaiseBudgetBody)
export class InvestigationBudgetView {
  @Example('inc-2024-118') readonly investigationId!: string;
  @NullableText('default', 'null: of callers without a key') readonly project!: string | null;
  @ApiProperty({
    type: 'integer',
    example: 10,
    description: 'For each tool that has no limit of its own; 0: no limit',
  })
  readonly callsPerTool!: number;
  @ApiProperty({
    format: 'date-time',
    example: '2026-01-15T09:30:00.000Z',
    description: 'When the budget is whole again',
  })
  readonly resetsAt!: string;
  @NullableText(
    '2026-01-14T09:41:00.000Z',
    'Of its last call; null: it only has limits, or was called long ago',
  )
  readonly lastCallAt!: string | null;
  @ApiProperty({ type: [ToolBudgetView], description: 'Tools that were called or given a limit, by name' })
  readonly tools!: readonly ToolBudgetView[];
}

export class InvestigationPageView extends PageOf(InvestigationBudgetView) {}
