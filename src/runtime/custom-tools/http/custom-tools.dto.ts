import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { ToolAnnotations } from '../../../web/contract/tool.js';
import {
  type HealthStatus,
  healthStatuses,
  type ToolStatus,
  toolStatuses,
} from '../entity/custom-tool.entity.js';
import { CustomToolUpdate, ToolSettings } from '../entity/tool-settings.js';
import type { ReplicaTrouble } from '../state/tool-states.js';
import type { SandboxSettings, ThresholdSettings, ToolPermissions } from '../entity/nested-settings.js';
import { ShownType } from '../entity/setting-facets.js';
import type { GivenValue } from '../../secrets/env-cipher.js';
import {
  Moment,
  NullableMoment,
  NullableText,
  OptionalOneOf,
  PageOf,
  PageQuery,
  SentBackBy,
  TextMap,
} from '../../../web/rest/dto.js';

export class RunsAsView {
  @ApiProperty({ example: 1_900_000_003 }) readonly uid!: number;
}

/** The restrictions that hold for a tool on this host. */
export class EffectiveSandboxView {
  @ApiProperty({ example: 3, description: '0 (clean environment, time-outs and output caps only) to 3' })
  readonly tier!: number;
  @ApiProperty({ type: [String], example: ['allowNetwork'], description: 'Restrictions that are enforced' })
  readonly enforced!: readonly string[];
  @ApiProperty({ type: [String], example: ['maxCpuPercent'], description: 'Restrictions that are not' })
  readonly notEnforced!: readonly string[];
  @TextMap(
    { maxCpuPercent: 'needs a cgroup: SANDBOX_CGROUP=off' },
    'Why a restriction is not enforced, or its limitations',
  )
  readonly notes!: Readonly<Record<string, string>>;
  @ApiPropertyOptional({
    type: RunsAsView,
    description: 'User of its processes; absent while it is not loaded',
  })
  readonly runsAs?: RunsAsView;
  @ApiPropertyOptional({ type: [String], example: ['Network: api.example.com:443'], description: 'As text' })
  readonly mayTouch?: readonly string[];
}

/** Max reasons that an MCP server's tools show. */
export const maxReasons = 20;

export class ServerToolsView {
  @ApiProperty({ example: 12 }) readonly callable!: number;
  @ApiProperty({ example: 1, description: 'Not callable until approved' }) readonly held!: number;
  @ApiProperty({ example: 0, description: 'Cannot be approved' }) readonly refused!: number;
  @ApiProperty({
    type: [String],
    example: ['files__read_file is not callable (held): its definition changed since it was approved'],
    description: `Reasons, and warnings of callable tools; at most ${maxReasons}`,
  })
  readonly why!: string[];
}

class ReplicaTroubleView implements ReplicaTrouble {
  @ApiProperty({ example: 'gateway-2:17:mhq3k2x1' }) readonly replica!: string;
  @ApiProperty({ example: 'gateway-2:3000' }) readonly name!: string;
  @ApiProperty({ example: 'gateway-2' }) readonly host!: string;
  @ApiProperty({ enum: toolStatuses, example: 'error' }) readonly status!: ToolStatus;
  @ApiProperty({ enum: healthStatuses, example: 'unhealthy' }) readonly healthStatus!: HealthStatus;
  @NullableText('No such file') readonly errorMessage!: string | null;
}

export class ToolReplicasView {
  @ApiProperty({ example: 3, description: 'Replicas that are alive' }) readonly total!: number;
  @ApiProperty({ example: 2 }) readonly working!: number;
  @ApiProperty({ type: [ReplicaTroubleView] }) readonly troubles!: ReplicaTroubleView[];
}

type ShownSettings = Omit<ToolSettings, 'definitions' | 'fallback' | 'metadata'> & {
  readonly fallback?: unknown;
  readonly metadata?: object;
};

/** A custom tool as its operator sees it. */
@SentBackBy(CustomToolUpdate)
export class CustomToolView extends ShownType<ShownSettings>(ToolSettings) {
  @ApiProperty({ example: '019a9e0c-5d0e-7cc1-a3a5-5a2b7c9d1e2f' }) readonly id!: string;
  declare readonly env: Record<string, GivenValue>;
  declare readonly annotations: ToolAnnotations;
  declare readonly thresholds: ThresholdSettings;
  declare readonly sandbox: SandboxSettings;
  declare readonly permissions: ToolPermissions;
  @NullableText(
    '/usr/bin/python3.11',
    'Target of the command at registration; a path that leads to another file is not started',
  )
  readonly pinnedCommand!: string | null;
  @ApiProperty({ type: EffectiveSandboxView }) readonly effectiveSandbox!: EffectiveSandboxView;
  @ApiProperty({ example: 1, description: 'Number of its current revision' }) readonly revision!: number;
  @ApiProperty({ enum: toolStatuses, example: 'active' }) readonly status!: string;
  @ApiProperty({ enum: healthStatuses, example: 'healthy' }) readonly healthStatus!: string;
  @NullableMoment('2026-01-23T10:30:00.000Z') readonly lastHealthCheck!: Date | null;
  @NullableText(null) readonly errorMessage!: string | null;
  @ApiPropertyOptional({
    type: ServerToolsView,
    description: 'Tools of a running MCP server; absent in lists',
  })
  readonly tools?: ServerToolsView;
  @ApiPropertyOptional({
    type: ToolReplicasView,
    description: 'State at the replicas, if there are several',
  })
  readonly replicas?: ToolReplicasView;
  @ApiPropertyOptional({
    type: [String],
    example: ['Each of the 3 replicas runs this MCP server for itself, with a memory of its own.'],
    description: 'Notes for the operator, in the answer to a registration or a change',
  })
  readonly warnings?: readonly string[];
  @Moment() readonly createdAt!: Date;
  @Moment() readonly updatedAt!: Date;
}

export class CustomToolPageView extends PageOf(CustomToolView) {}

export class ListCustomToolsQuery extends PageQuery {
  @OptionalOneOf(toolStatuses) readonly status?: ToolStatus;
}

/** The number of a tool's processes by state, and of the calls that wait for one. */
export class ProcessesView {
  @ApiProperty({ example: 0 }) readonly starting!: number;
  @ApiProperty({ example: 1 }) readonly idle!: number;
  @ApiProperty({ example: 0 }) readonly busy!: number;
  @ApiProperty({ example: 0 }) readonly waiting!: number;
}

export class CustomToolHealthView {
  @ApiProperty({ example: 'log_summary' }) readonly name!: string;
  @ApiProperty({ enum: toolStatuses, example: 'active' }) readonly status!: string;
  @ApiProperty({ enum: healthStatuses, example: 'healthy' }) readonly healthStatus!: string;
  @NullableMoment('2026-01-23T10:30:00.000Z') readonly lastHealthCheck!: Date | null;
  @NullableText(null) readonly errorMessage!: string | null;
  @ApiProperty({ type: ProcessesView }) readonly processes!: ProcessesView;
}

/** Whether an executable is a tool, and how its registration differs from its handshake. */
export class ValidationView {
  @ApiProperty({ example: true, description: 'The executable answers as a tool' }) readonly valid!: boolean;
  @ApiProperty({ type: [String], example: [], description: 'Why it is not valid' })
  readonly errors!: string[];
  @ApiProperty({
    type: [String],
    example: ['version: the registration says "2.0.0", the executable says "1.0.0"'],
    description: 'Differences of the registration from the executable; the registration is used',
  })
  readonly differences!: string[];
}
