import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, Length, Max, Min, ValidateBy } from 'class-validator';
import { Optional } from '../common/optional.decorator.js';
import type { InvestigationView, ToolBudget } from './budget-store.js';

const maxLimit = 1_000_000;
const maxTools = 1_000;
const isLimit = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxLimit;

/** A map from tool name to limit. */
function IsLimitByTool(): PropertyDecorator {
  const entriesOf = (value: unknown): [string, unknown][] | undefined =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : undefined;
  return ValidateBy({
    name: 'isLimitByTool',
    validator: {
      validate: (value) => {
        const entries = entriesOf(value);
        return (
          entries !== undefined && entries.length <= maxTools && entries.every(([, limit]) => isLimit(limit))
        );
      },
      defaultMessage: (about) => {
        const wrong = (entriesOf(about?.value) ?? [])
          .filter(([, limit]) => !isLimit(limit))
          .map(([tool]) => tool);
        const names = wrong.length > 0 ? ` (wrong: ${wrong.slice(0, 5).join(', ')})` : '';
        return `tools must map at most ${maxTools} tool names to whole numbers from 0 to ${maxLimit}${names}`;
      },
    },
  });
}

export class InvestigationParams {
  @ApiProperty({
    example: 'inc-2024-118',
    description: "The agent's id of the investigation",
    maxLength: 256,
  })
  @Length(1, 256)
  readonly id!: string;
}

export class RaiseBudgetDto {
  @ApiPropertyOptional({
    example: 20,
    minimum: 0,
    maximum: maxLimit,
    description: 'Calls for each tool that has no limit of its own; 0: no limit',
  })
  @Optional()
  @IsInt()
  @Min(0)
  @Max(maxLimit)
  readonly callsPerTool?: number;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'integer', minimum: 0, maximum: maxLimit },
    example: { get_playbooks: 30 },
    description: "Calls by tool name, over the tool's own limit; 0: no limit",
  })
  @Optional()
  @IsLimitByTool()
  readonly tools?: Record<string, number>;
}

export class ToolBudgetDto implements ToolBudget {
  @ApiProperty({ example: 'get_playbooks' })
  readonly tool!: string;

  @ApiProperty({ type: 'integer', example: 10, description: '0: no limit' })
  readonly limit!: number;

  @ApiProperty({ type: 'integer', example: 3 })
  readonly used!: number;

  @ApiProperty({ type: 'integer', nullable: true, example: 7, description: 'null: no limit' })
  readonly remaining!: number | null;
}

export class InvestigationDto implements Omit<InvestigationView, 'resetsAt'> {
  @ApiProperty({ example: 'inc-2024-118' })
  readonly investigationId!: string;

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

  @ApiProperty({ type: [ToolBudgetDto], description: 'Tools that were called or given a limit, by name' })
  readonly tools!: readonly ToolBudgetDto[];
}
