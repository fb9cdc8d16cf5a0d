import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { AnyObject, NullableText, OptionalTextList, Text } from '../../../web/rest/dto.js';
import { mcpToolStates } from '../../mcp-client/mcp-review.js';
import { RevisionChangeView } from './tool-revisions.dto.js';

const definitionExample = {
  name: 'read_file',
  description: 'Reads a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};

export class McpToolView {
  @ApiProperty({ example: 'files__read_file', description: 'By which agents call it' })
  readonly name!: string;
  @ApiProperty({ example: 'read_file', description: 'As the server calls it' }) readonly tool!: string;
  @ApiProperty({
    enum: mcpToolStates,
    example: 'held',
    description:
      '`callable`: listed as it was approved; `held`: not so, until it is approved; `refused`: it cannot be approved; `gone`: not listed any more',
  })
  readonly state!: string;
  @ApiPropertyOptional({
    example: 'its definition changed since it was approved',
    description: 'Why it is not callable',
  })
  readonly why?: string;
  @ApiPropertyOptional({
    example: 'it is listed without its outputSchema: its outputSchema is not a valid JSON Schema',
    description: 'A fault of the tool, which can be called all the same',
  })
  readonly warning?: string;
  @AnyObject({
    required: false,
    example: definitionExample,
    description: 'What callers read, as it was approved',
  })
  readonly approved?: object;
  @AnyObject({
    required: false,
    example: definitionExample,
    description: 'What the server lists, where that differs',
  })
  readonly listed?: object;
  @ApiPropertyOptional({ type: [RevisionChangeView], description: 'What changed since it was approved' })
  readonly changes?: RevisionChangeView[];
}

export class McpToolsView {
  @NullableText(
    '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
    'SHA-256 of the list; null: no process has listed its tools yet',
  )
  readonly listHash!: string | null;
  @ApiProperty({ type: [McpToolView] }) readonly data!: McpToolView[];
}

export class ApproveBody {
  @Text(64, {
    pattern: '^[0-9a-f]{64}$',
    example: '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
    description: 'Of the list that was looked at: another one is not approved',
  })
  readonly listHash!: string;
  @OptionalTextList({
    maxItems: 512,
    example: ['read_file'],
    description: "The server's names of those to approve; absent: all that are held",
  })
  readonly tools?: string[];
}
