import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { AnyObject } from '../common/any-object.decorator.js';
import { ToolBody } from './tools.dto.js';

const schemaExample = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };

class OpenAiFunction {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @AnyObject({ example: schemaExample }) readonly parameters!: object;
}

class OpenAiTool {
  @ApiProperty({ enum: ['function'], example: 'function' }) readonly type!: string;
  @ApiProperty() readonly function!: OpenAiFunction;
}

class AnthropicTool {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @AnyObject({ example: schemaExample }) readonly input_schema!: object;
}

class McpTool {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @AnyObject({ example: schemaExample }) readonly inputSchema!: object;
  @AnyObject({ example: { readOnlyHint: true } }) readonly annotations!: object;
}

class DistriTool {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @ApiProperty({ enum: ['function'], example: 'function' }) readonly type!: string;
  @AnyObject({ example: schemaExample }) readonly parameters!: object;
}

class HolmesTool {
  @ApiProperty({ example: 'get_playbooks' }) readonly name!: string;
  @ApiProperty({ example: 'Search for relevant remediation workflows' }) readonly description!: string;
  @AnyObject({ example: { query: { type: 'string', required: true } } }) readonly parameters!: object;
}

const models = [ToolBody, OpenAiTool, AnthropicTool, McpTool, DistriTool, HolmesTool];
const anyTool = { anyOf: models.map((model) => ({ $ref: getSchemaPath(model) })) };

/** One tool: our own view, or the platform's when `format` is given. */
export function ApiToolResponse(): MethodDecorator {
  return applyDecorators(ApiExtraModels(...models), ApiOkResponse({ schema: anyTool }));
}

/** A page of tools. */
export function ApiToolListResponse(): MethodDecorator {
  const schema = {
    type: 'object',
    required: ['data', 'nextCursor'],
    properties: {
      data: { type: 'array', items: anyTool },
      nextCursor: { type: 'string', nullable: true, example: null },
    },
  };
  return applyDecorators(ApiExtraModels(...models), ApiOkResponse({ schema }));
}
