import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsNumber, IsOptional, Max, Min } from 'class-validator';
import { PlaybookId, Text } from '../../playbooks/playbook.validators.js';

/** Beside `label.<key>`, which `SearchQuery` takes out first. */
export class SearchPlaybooksQuery {
  @Text(4_096)
  @ApiProperty({ example: 'pod OOMKilled, exit code 137', maxLength: 4096 })
  readonly query!: string;

  @Type(() => Number)
  @IsNumber()
  @Min(0)
  @Max(1)
  @ApiPropertyOptional({ example: 0.7, default: 0.7, minimum: 0, maximum: 1 })
  readonly min_confidence: number = 0.7;

  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  @ApiPropertyOptional({ example: 10, default: 10, minimum: 1, maximum: 100 })
  readonly max_results: number = 10;

  @IsOptional()
  @IsIn(['true', 'false'])
  @ApiPropertyOptional({
    enum: ['true', 'false'],
    default: 'false',
    example: 'true',
    description: 'Also answers what kept each playbook out, or how its confidence came about',
  })
  readonly explain: 'true' | 'false' = 'false';

  @IsOptional()
  @PlaybookId()
  @ApiPropertyOptional({
    example: 'oomkill-increase-memory',
    description: 'With explain: explains this playbook only. The search stays the same',
  })
  readonly playbook_id?: string;
}
