import { Example, OneOfThese, NullableText, OptionalInt, OptionalText } from '../../web/rest/dto.js';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { CircuitKind } from '../../base/outbound/breaker/circuit-state.js';
import { unavailableStates } from '../../web/contract/tool.js';

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

/** Advice by the number of errors only. The circuit considers more. */
export class CircuitAdviceView {
  @Example('log_summary') readonly tool!: string;
  @Example(true, 'Errors and timeouts of the window reach the threshold') readonly shouldBreak!: boolean;
  @Example(7, 'Errors and timeouts of the window') readonly errors!: number;
  @Example(5) readonly errorThreshold!: number;
  @Example(5) readonly windowMinutes!: number;
}

export class CircuitTransitionView {
  @Example('2026-01-23T10:30:00.000Z') readonly at!: string;
  @OneOfThese(states, 'closed') readonly from!: CircuitKind;
  @OneOfThese(states, 'open') readonly to!: CircuitKind;
  @Example('5 of 5 calls in the last 300 s were tool faults') readonly reason!: string;
  @NullableText(null, 'null: it happened by itself') readonly by!: string | null;
}

export class CircuitRulesView {
  @Example(5, 'Tool faults in the window …') readonly faults!: number;
  @Example(0.5, "… that are at least this share of the window's calls") readonly minFailureRate!: number;
  @Example(300_000) readonly windowMs!: number;
}

export class CircuitStateView {
  @Example('log_summary') readonly tool!: string;
  @OneOfThese(states, 'open') readonly state!: CircuitKind;
  @NullableText(
    '5 of 5 calls in the last 300 s were tool faults',
    'Why the circuit is in this state; null while it was always closed',
  )
  readonly reason!: string | null;
  @NullableText(null, 'Who put it into this state by hand; null: it went there by itself')
  readonly by!: string | null;
  @Example('2026-01-23T10:30:00.000Z', 'Beginning of the state') readonly since!: string;
  @NullableText(
    '2026-01-23T10:30:00.000Z',
    'First opening since it was last closed: failed probes do not restart it; null while it is closed',
  )
  readonly openSince!: string | null;
  @NullableText(
    '2026-01-23T10:30:30.000Z',
    'When an open circuit lets the first calls try the tool; null when none is to come',
  )
  readonly nextProbeAt!: string | null;
  @Example(false, 'Opened by hand: it stays open until it is closed or reset by hand, also across restarts')
  readonly heldByHand!: boolean;
  @Example(5, 'Tool faults in the window') readonly faultsInWindow!: number;
  @Example(5, 'Calls in the window') readonly callsInWindow!: number;
  @ApiProperty({ type: CircuitRulesView, description: 'What opens it' }) readonly opensAt!: CircuitRulesView;
}

export class CircuitListView {
  @ApiProperty({ type: [CircuitStateView], description: 'By name of their tools' })
  readonly data!: readonly CircuitStateView[];
}

/** A circuit with its history. */
export class CircuitView extends CircuitStateView {
  @ApiProperty({ type: [CircuitTransitionView], description: 'The newest changes of state, oldest first' })
  readonly history!: CircuitTransitionView[];
  @Example(true, 'false: the database is away, and this is what happened since the start')
  readonly historyComplete!: boolean;
}

/** Why calls of a tool are refused. */
class UnavailableView {
  @OneOfThese(unavailableStates, 'held') readonly state!: string;
  @Example('its definition changed since it was approved') readonly why!: string;
}

/** Base of views of tools that may be unavailable. */
export class MaybeUnavailable {
  @ApiPropertyOptional({ type: UnavailableView, description: 'Why calls are refused; absent: they are not' })
  readonly unavailable?: UnavailableView;
}
