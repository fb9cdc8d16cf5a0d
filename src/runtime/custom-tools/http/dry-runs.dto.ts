import { applyDecorators, HttpCode } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { OutcomeView } from '../../../call/door/tools.dto.js';
import { ApiProblems } from '../../../web/rest/api-problems.decorator.js';
import { AnyObject, FreeJson, OptionalNested, OptionalText, OrNull } from '../../../web/rest/dto.js';
import { CustomToolCreate, CustomToolUpdate } from '../entity/tool-settings.js';
import { EffectiveSandboxView } from './custom-tools.dto.js';
import { LogEntryView } from './tool-logs.dto.js';

export class DryRunCallBody {
  @FreeJson({ required: false, example: { text: 'to be or not to be' }, description: 'Absent: {}' })
  readonly input?: unknown;
  @OptionalText(256, { description: 'The tool of an MCP server, as `<name>__<tool>`' })
  readonly tool?: string;
}

const Call = (): PropertyDecorator =>
  OptionalNested(DryRunCallBody, { description: 'Absent: the executable is started, but not called' });

export class TryToolBody extends CustomToolCreate {
  @Call() readonly call?: DryRunCallBody;
}

export class TryChangeBody extends CustomToolUpdate {
  @Call() readonly call?: DryRunCallBody;
}

export class BundleDryRunQuery {
  @OptionalText(8_192, {
    example: '{"text":"to be or not to be"}',
    description: 'Input of a call, as JSON. Absent: the executable is started, but not called',
  })
  readonly input?: string;
}

export class DryRunView {
  @AnyObject({
    example: { name: 'word_count', version: '1.0.0' },
    description: 'Its answer to `initialize`',
  })
  readonly handshake!: object;
  @ApiProperty({ example: 'Counts words' }) readonly description!: string;
  @ApiProperty({ example: '1.0.0' }) readonly version!: string;
  @AnyObject({
    example: { type: 'object' },
    description: 'Description, version and schema as they would be registered',
  })
  readonly inputSchema!: object;
  @ApiProperty({
    type: [String],
    example: ['version: the registration says "2.0.0", the executable says "1.0.0"'],
    description: 'Differences of the registration from the executable; the registration is used',
  })
  readonly differences!: readonly string[];
  @ApiProperty({ type: EffectiveSandboxView }) readonly effectiveSandbox!: EffectiveSandboxView;
  // Not `nullable`, because beside a reference it would still require an object.
  @OrNull(OutcomeView, 'Outcome of the call; null if there was none')
  readonly outcome!: object | null;
  @ApiProperty({ type: [LogEntryView], description: 'Output of its processes, oldest first' })
  readonly log!: readonly LogEntryView[];
}

const streamExample =
  'event: log\ndata: {"id":"mhq3k2x1-1","timestamp":"2026-01-23T10:30:00.000Z","level":"info","tool":"word_count","event":"stderr","pid":4711,"message":"loading"}\n\n' +
  'event: trial\ndata: {"handshake":{"name":"word_count"},"differences":[],"outcome":null}\n\n';

export const ApiDryRun = (): MethodDecorator =>
  applyDecorators(
    HttpCode(200),
    ApiExtraModels(DryRunView),
    ApiOkResponse({
      description:
        'It is a tool. As events: any number of `log` while it writes, then one `trial`, or one `problem`',
      content: {
        'application/json': { schema: { $ref: getSchemaPath(DryRunView) } },
        'text/event-stream': { schema: { type: 'string' }, example: streamExample },
      },
    }),
    ApiProblems(
      'conflict',
      'payload_too_large',
      'tool_unavailable',
      'invalid_input',
      'queue_full',
      'recorder_full',
      'shutting_down',
    ),
  );
