import { ApiProperty } from '@nestjs/swagger';
import type { Replica } from '../../base/database/replicas.js';
import { NullableText } from '../../web/rest/dto.js';

/** A part of a replica that is not well. */
class TroubledPartView {
  @ApiProperty({ example: 'recorder' }) readonly part!: string;
  @ApiProperty({ enum: ['degraded', 'down'], example: 'degraded' }) readonly status!: string;
  @NullableText('records wait for the database for 40 s') readonly message!: string | null;
}

class JournalLagView {
  @ApiProperty({ example: 0, description: 'Records that wait for the database' }) readonly depth!: number;
  @ApiProperty({ example: 0, description: 'Milliseconds that the oldest of them waits' })
  readonly oldestMs!: number;
}

/** A replica as of its last heartbeat. */
export class ReplicaView {
  @ApiProperty({ example: 'gateway-2:17:mhq3k2x1' }) readonly id!: string;
  @ApiProperty({ example: 'gateway-2:3000', description: 'Host and port' }) readonly name!: string;
  @ApiProperty({ example: 'gateway-2' }) readonly host!: string;
  @ApiProperty({ example: '1.4.0' }) readonly version!: string;
  @NullableText('http://10.0.3.7:3000', 'Where other replicas reach it') readonly address!: string | null;
  @ApiProperty({ type: Number, nullable: true, example: 3, description: 'Tier of its sandbox' })
  readonly tier!: number | null;
  @ApiProperty({ example: false, description: 'Whether it is the one that answers' }) readonly self!: boolean;
  @ApiProperty({ type: String, format: 'date-time', example: '2026-01-23T10:30:00.000Z' })
  readonly startedAt!: Date;
  @ApiProperty({ type: String, format: 'date-time', example: '2026-01-23T10:30:00.000Z' })
  readonly seenAt!: Date;
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly silentSince!: Date | null;
  @ApiProperty({ type: JournalLagView }) readonly journal!: JournalLagView;
  @ApiProperty({ type: [TroubledPartView] }) readonly troubles!: TroubledPartView[];
}

export class ReplicaListView {
  @ApiProperty({ type: [ReplicaView], description: 'Oldest first' }) readonly data!: ReplicaView[];
}

/** @param silent ids of those that did not answer just now */
export function replicaView(
  { parts, ...replica }: Replica,
  self: string,
  silent: ReadonlySet<string>,
): ReplicaView {
  const { depth = 0, oldestMs = 0 } = (parts['recorder'] ?? {}) as Partial<JournalLagView>;
  const troubles = Object.entries(parts)
    .filter(([, { status }]) => status !== 'up')
    .map(([part, { status, message = null }]) => ({ part, status, message }));
  const silentSince = silent.has(replica.id) ? replica.seenAt : replica.silentSince;
  return { ...replica, silentSince, self: replica.id === self, journal: { depth, oldestMs }, troubles };
}
