import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class PayloadView {
  @ApiProperty({ example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f' }) readonly executionId!: string;
  @ApiPropertyOptional({ example: { text: 'to be or not to be' }, description: 'Any JSON value' })
  readonly input?: unknown;
  @ApiPropertyOptional({ example: { words: 6 }, description: 'Of a success; any JSON value' })
  readonly result?: unknown;
  @ApiPropertyOptional({ description: 'Of a failure: code, type, message and data, as in the outcome' })
  readonly error?: unknown;
  @ApiProperty({ type: [String], example: [], description: 'Parts of more than 64 KiB, which are not kept' })
  readonly omitted!: readonly string[];
  @ApiProperty({ example: false, description: "A value of the tool's `env` was taken out of the input" })
  readonly redacted!: boolean;
  @ApiProperty({ format: 'date-time', example: '2099-01-01T00:00:00.000Z' }) readonly keptUntil!: string;
}
