import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, Length } from 'class-validator';

const states = ['closed', 'open', 'half_open'] as const;
type CircuitStateName = (typeof states)[number];

/** Why an operator overrides a circuit. */
export class OverrideCircuitBody {
  @ApiPropertyOptional({ example: 'The upstream API is in maintenance', minLength: 1, maxLength: 500 })
  @IsOptional()
  @IsString()
  @Length(1, 500)
  readonly reason?: string;
}

export class CircuitTransitionView {
  @ApiProperty({ example: '2026-01-23T10:30:00.000Z' })
  readonly at!: string;

  @ApiProperty({ enum: states, example: 'closed' })
  readonly from!: CircuitStateName;

  @ApiProperty({ enum: states, example: 'open' })
  readonly to!: CircuitStateName;

  @ApiProperty({ example: '5 of 5 calls in the last 300 s were tool faults' })
  readonly reason!: string;
}

export class CircuitView {
  @ApiProperty({ example: 'log_summary' })
  readonly tool!: string;

  @ApiProperty({ enum: states, example: 'open' })
  readonly state!: CircuitStateName;

  @ApiProperty({
    type: String,
    nullable: true,
    example: '5 of 5 calls in the last 300 s were tool faults',
    description: 'Why the circuit is in this state; null while it was always closed',
  })
  readonly reason!: string | null;

  @ApiProperty({ example: '2026-01-23T10:30:00.000Z', description: 'Beginning of the state' })
  readonly since!: string;

  @ApiProperty({
    type: String,
    nullable: true,
    example: '2026-01-23T10:30:30.000Z',
    description:
      'When an open circuit lets the first calls try the tool; null when it is not open or opened by hand',
  })
  readonly nextProbeAt!: string | null;

  @ApiProperty({ example: 5, description: 'Tool faults in the window' })
  readonly faultsInWindow!: number;

  @ApiProperty({ example: 5, description: 'Calls in the window' })
  readonly callsInWindow!: number;

  @ApiProperty({ type: [CircuitTransitionView], description: 'The last 50 changes of state, oldest first' })
  readonly history!: CircuitTransitionView[];
}
