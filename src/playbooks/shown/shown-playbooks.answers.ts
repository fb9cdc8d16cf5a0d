import { ApiProperty } from '@nestjs/swagger';

const time = '2026-01-23T10:30:00.000Z';

/** Whether and when an investigation was shown a version. */
export class ShownToInvestigationBody {
  @ApiProperty({ example: 'inv-2026-0117' }) readonly investigation_id!: string;
  @ApiProperty({ example: true, description: 'False also when the investigation has expired' })
  readonly shown!: boolean;
  @ApiProperty({ type: String, nullable: true, example: time }) readonly first_shown_at!: Date | null;
  @ApiProperty({ type: String, nullable: true, example: time }) readonly last_shown_at!: Date | null;
  @ApiProperty({ example: 2, description: 'Answers that held it' }) readonly times!: number;
}

export class ShownPlaybookBody {
  @ApiProperty({ example: 'oomkill-increase-memory' }) readonly playbook_id!: string;
  @ApiProperty({ example: '1.2.0' }) readonly version!: string;
  @ApiProperty({ type: String, example: time }) readonly first_shown_at!: Date;
  @ApiProperty({ type: String, example: time }) readonly last_shown_at!: Date;
  @ApiProperty({ example: 2, description: 'Answers that held it' }) readonly times!: number;
}

export class ShownPlaybooksBody {
  @ApiProperty({ example: 'inv-2026-0117' }) readonly investigation_id!: string;
  @ApiProperty({ type: [ShownPlaybookBody], description: 'By playbook and version' })
  readonly playbooks!: ShownPlaybookBody[];
  @ApiProperty({ example: 1 }) readonly total!: number;
}
