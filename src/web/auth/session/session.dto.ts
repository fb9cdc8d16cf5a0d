import { ApiProperty } from '@nestjs/swagger';
import { NullableMoment, NullableText, OptionalText } from '../../rest/dto.js';
import { type Scope, scopes } from '../../contract/principal.js';

/** One of the two. */
export class SignInBody {
  @OptionalText(512, {
    example: 'tk_019a9e0c5d0e7cc1a3f2_3q2-7wUyB0XnP1Zk8sVd4eRtG6hJ9mLcQaWfYxKoIuE',
    description: 'An API key, or that of the operator',
  })
  readonly key?: string;
  @OptionalText(128, { description: 'From the link that `npm start` prints: valid once, for five minutes' })
  readonly once?: string;
}

export class EnvironmentView {
  @ApiProperty({ example: '1.0.0' }) readonly version!: string;
  @ApiProperty({ example: 'toolkeeper-7d4f9', description: 'Name of the host that answered' })
  readonly replica!: string;
  @ApiProperty({ example: '/opt/toolkeeper/bin/toolkeeper.mjs', description: 'The command line' })
  readonly command!: string;
  @ApiProperty({ example: '/opt/toolkeeper/.toolkeeper', description: 'TOOLKEEPER_DATA_DIR' })
  readonly dataDir!: string;
  @NullableText(
    '/opt/toolkeeper/.toolkeeper/admin.key',
    "The file with the operator's key; null: it is configured",
  )
  readonly keyFile!: string | null;
  @ApiProperty({ enum: ['embedded', 'own'], example: 'embedded' }) readonly database!: 'embedded' | 'own';
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 2,
    description: 'What this host can hold of the sandbox, 0 to 3; null without custom tools',
  })
  readonly sandboxTier!: number | null;
  @ApiProperty({
    type: [String],
    example: ['/var/log'],
    description: 'Folders that tools may be granted besides their own (SANDBOX_GRANTABLE_PATHS)',
  })
  readonly grantablePaths!: readonly string[];
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { TOOL_INPUT_MAX_BYTES: 1_048_576 },
    description: 'Caps that callers and authors of tools meet, by the variable that sets each',
  })
  readonly limits!: Readonly<Record<string, number>>;
}

export class SessionView {
  @ApiProperty({ example: 'admin' }) readonly userId!: string;
  @NullableText('admin', 'null: no key was shown') readonly keyId!: string | null;
  @ApiProperty({ example: false, description: 'No key was shown: this is what everybody may do here' })
  readonly anonymous!: boolean;
  @ApiProperty({ enum: scopes, isArray: true, example: ['tools:call'] }) readonly scopes!: readonly Scope[];
  @ApiProperty({ type: [String], nullable: true, example: null, description: 'null: all' })
  readonly projects!: readonly string[] | null;
  @ApiProperty({ type: [String], nullable: true, example: null, description: 'null: all' })
  readonly tools!: readonly string[] | null;
  @NullableMoment(
    '2099-01-01T00:00:00.000Z',
    'When the session of this browser ends; null where none was begun',
  )
  readonly expiresAt!: string | null;
  @ApiProperty({
    type: EnvironmentView,
    nullable: true,
    description: 'Of this server; null without the scope `metrics:read`',
  })
  readonly environment!: EnvironmentView | null;
}

export class NewSessionView extends SessionView {
  @ApiProperty({
    example: '3q2-7wUyB0XnP1Zk8sVd4eRtG6hJ9mLcQaWfYxKoIuE',
    description: 'For the header `x-toolkeeper-session` of requests that change something; shown this once',
  })
  readonly csrfToken!: string;
}
