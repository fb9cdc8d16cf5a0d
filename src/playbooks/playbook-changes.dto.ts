import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { Text } from './playbook.validators.js';

const who = 'dora@example.com';

export class DisablePlaybookBody {
  @Text(200)
  @ApiProperty({ example: who })
  readonly disabled_by!: string;

  @Text(2_000)
  @ApiProperty({ example: 'Made the outage of 12 March worse' })
  readonly disabled_reason!: string;
}

export class EnablePlaybookBody {
  @Text(200)
  @ApiProperty({ example: who })
  readonly enabled_by!: string;

  @IsOptional()
  @Text(2_000)
  @ApiPropertyOptional({ example: 'Its cause was the network' })
  readonly enabled_reason?: string;
}

export class DeprecatePlaybookBody {
  @Text(200)
  @ApiProperty({ example: who })
  readonly deprecated_by!: string;

  @Text(2_000)
  @ApiProperty({ example: 'Use cluster-dns-cache instead', description: 'For those who still use it' })
  readonly deprecation_notice!: string;
}

export class ArchivePlaybookBody {
  @Text(200)
  @ApiProperty({ example: who })
  readonly archived_by!: string;

  @Text(2_000)
  @ApiProperty({ example: 'The cluster that it was for is gone' })
  readonly archived_reason!: string;
}

/** What came of using a playbook. */
export class RecordOutcomeBody {
  @IsBoolean()
  @ApiProperty({ example: true, description: 'Whether it remedied the incident' })
  readonly success!: boolean;

  @IsOptional()
  @Text(256)
  @ApiPropertyOptional({
    example: 'remediation-7f3a',
    maxLength: 256,
    description: 'Of your choice: with it an outcome that is reported again does not count again',
  })
  readonly execution_id?: string;
}
