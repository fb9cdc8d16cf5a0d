import { ApiProperty } from '@nestjs/swagger';
import { AnyObject, FreeJson, OptionalNested, OptionalText } from '../../../web/rest/dto.js';
import { OutcomeView } from '../../../call/door/tools.dto.js';
import { LogEntryView } from './tool-logs.dto.js';
import { CustomToolCreate, CustomToolUpdate } from '../entity/tool-settings.js';
import { EffectiveSandboxView } from './custom-tools.dto.js';

/** A call of the tool that is tried. */
export class DryRunCallBody {
  @FreeJson({ required: false, example: { text: 'to be or not to be' }, description: 'Absent: {}' })
  readonly input?: unknown;
  @OptionalText(256, { description: 'Of an MCP server: which of its tools, as `<name>__<tool>`' })
  readonly tool?: string;
}

const Call = (): PropertyDecorator =>
  OptionalNested(DryRunCallBody, { description: 'Absent: it is started and asked, not called' });

export class TryToolBody extends CustomToolCreate {
  @Call() readonly call?: DryRunCallBody;
}

export class TryChangeBody extends CustomToolUpdate {
  @Call() readonly call?: DryRunCallBody;
}

export class BundleDryRunQuery {
  @OptionalText(8_192, {
    example: '{"text":"to be or not to be"}',
    description: 'Input of a call, as JSON. Absent: it is started and asked, not called',
  })
  readonly input?: string;
}

export class DryRunView {
  @AnyObject({
    example: { name: 'word_count', version: '1.0.0' },
    description: 'What it answered to `initialize`',
  })
  readonly handshake!: object;
  @ApiProperty({ example: 'Counts words' }) readonly description!: string;
  @ApiProperty({ example: '1.0.0' }) readonly version!: string;
  @AnyObject({
    example: { type: 'object' },
    description: 'These three as they would be registered',
  })
  readonly inputSchema!: object;
  @ApiProperty({
    type: [String],
    example: ['version: registered as "2.0.0", the executable says "1.0.0"'],
    description: 'Where the registration says something else; the registration holds',
  })
  readonly differences!: readonly string[];
  @ApiProperty({ type: EffectiveSandboxView }) readonly effectiveSandbox!: EffectiveSandboxView;
  @ApiProperty({
    type: OutcomeView,
    nullable: true,
    description: 'Outcome of the call; null if there was none',
  })
  readonly outcome!: object | null;
  @ApiProperty({ type: [LogEntryView], description: 'What its processes wrote, oldest first' })
  readonly log!: readonly LogEntryView[];
}
