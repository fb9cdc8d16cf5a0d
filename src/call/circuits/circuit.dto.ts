import { ApiProperty } from '@nestjs/swagger';
import type { CircuitKind } from '../../base/outbound/breaker/circuit-state.js';
import { NullableText, OptionalInt, OptionalText } from '../../web/rest/dto.js';

const states = ['closed', 'open', 'half_open'] as const;

/** The operator who overrides a circuit, and the reason. */
export class OverrideCircuitBody {
  @OptionalText(200, {
    example: 'on-call@example.com',
    description: 'Who does it; absent: the caller, as their key says',
  })
  readonly by?: string;
  @OptionalText(500, {
    example: 'The upstream API is in maintenance',
    description: 'Absent: "Opened by hand", or closed, or reset',
  })
  readonly reason?: string;
}

export class CircuitQuery {
  @OptionalInt(1, 1_000, { example: 50, default: 50, description: 'The newest changes of state to show' })
  readonly limit!: number;
}

export class CircuitAdviceQuery {
  @OptionalInt(1, 10_000, { example: 5, description: "Absent: the tool's own errorThreshold, else 5" })
  readonly errorThreshold?: number;
  @OptionalInt(1, 1_440, { example: 5, description: "Absent: the tool's own windowMinutes, else 5" })
  readonly windowMinutes?: number;
}

/** The advice of a count of errors alone; the circuit decides by more. */
export class CircuitAdviceView {
  @ApiProperty({ example: 'log_summary' }) readonly tool!: string;
  @ApiProperty({ example: true, description: 'Errors and timeouts of the window reach the threshold' })
  readonly shouldBreak!: boolean;
  @ApiProperty({ example: 7, description: 'Errors and timeouts of the window' }) readonly errors!: number;
  @ApiProperty({ example: 5 }) readonly errorThreshold!: number;
  @ApiProperty({ example: 5 }) readonly windowMinutes!: number;
}

export class CircuitTransitionView {
  @ApiProperty({ example: '2026-01-23T10:30:00.000Z' }) readonly at!: string;
  @ApiProperty({ enum: states, example: 'closed' }) readonly from!: CircuitKind;
  @ApiProperty({ enum: states, example: 'open' }) readonly to!: CircuitKind;
  @ApiProperty({ example: '5 of 5 calls in the last 300 s were tool faults' }) readonly reason!: string;
  @NullableText(null, 'null: it happened by itself') readonly by!: string | null;
}

export class CircuitRulesView {
  @ApiProperty({ example: 5, description: 'Tool faults in the window …' }) readonly faults!: number;
  @ApiProperty({ example: 0.5, description: "… that are at least this share of the window's calls" })
  readonly minFailureRate!: number;
  @ApiProperty({ example: 300_000 }) readonly windowMs!: number;
}

export class CircuitStateView {
  @ApiProperty({ example: 'log_summary' }) readonly tool!: string;
  @ApiProperty({ enum: states, example: 'open' }) readonly state!: CircuitKind;
  @NullableText(
    '5 of 5 calls in the last 300 s were tool faults',
    'Why the circuit is in this state; null while it was always closed',
  )
  readonly reason!: string | null;
  @NullableText(null, 'Who put it into this state by hand; null: it went there by itself')
  readonly by!: string | null;
  @ApiProperty({ example: '2026-01-23T10:30:00.000Z', description: 'Beginning of the state' })
  readonly since!: string;
  @NullableText(
    '2026-01-23T10:30:30.000Z',
    'When an open circuit lets the first calls try the tool; null when none is to come',
  )
  readonly nextProbeAt!: string | null;
  @ApiProperty({
    example: false,
    description: 'Opened by hand: it stays open until it is closed or reset by hand, also across restarts',
  })
  readonly heldByHand!: boolean;
  @ApiProperty({ example: 5, description: 'Tool faults in the window' }) readonly faultsInWindow!: number;
  @ApiProperty({ example: 5, description: 'Calls in the window' }) readonly callsInWindow!: number;
  @ApiProperty({ type: CircuitRulesView, description: 'What opens it' }) readonly opensAt!: CircuitRulesView;
}

export class CircuitListView {
  @ApiProperty({ type: [CircuitStateView], description: 'By name of their tools' })
  readonly data!: readonly CircuitStateView[];
}

export class CircuitView extends CircuitStateView {
  @ApiProperty({ type: [CircuitTransitionView], description: 'The newest changes of state, oldest first' })
  readonly history!: CircuitTransitionView[];
  @ApiProperty({
    example: true,
    description: 'false: the database is away, and this is what happened since the start',
  })
  readonly historyComplete!: boolean;
}
