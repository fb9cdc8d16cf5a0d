import type OpenAI from 'openai';
import type { Tool, ToolDefinition } from '../tool-contract/tool.js';
import { describeTool, toolFormats } from './tool-formats.js';

/** The compiler holds the format against OpenAI's own types; the other SDKs' clients read theirs in test/platforms. */
toolFormats.openai satisfies (definition: ToolDefinition) => OpenAI.ChatCompletionFunctionTool;

const inputSchema = { type: 'object', properties: { q: { type: 'string' } } };
const definition = {
  name: 'find',
  description: 'Finds',
  kind: 'custom',
  version: '1.0.0',
  inputSchema,
  annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
  tags: [],
  timeoutMs: 1,
} as const;
const tool = { definition } as unknown as Tool;

describe('describeTool', () => {
  it('speaks each platform', () => {
    expect(describeTool(tool, 'openai')).toEqual({
      type: 'function',
      function: { name: 'find', description: 'Finds', parameters: inputSchema },
    });
    expect(describeTool(tool, 'anthropic')).toEqual({
      name: 'find',
      description: 'Finds',
      input_schema: inputSchema,
    });
    expect(describeTool(tool, 'distri')).toEqual({
      name: 'find',
      description: 'Finds',
      type: 'function',
      parameters: inputSchema,
    });
    expect(describeTool(tool, 'mcp')).toEqual({
      name: 'find',
      description: 'Finds',
      inputSchema,
      annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
    });
    expect(describeTool(tool, 'holmes')).toEqual({
      name: 'find',
      description: 'Finds',
      parameters: { q: { type: 'string', required: false } },
    });
    expect(describeTool(tool, undefined)).toBe(definition);
  });

  it('says of every schema that it is one of an object', () => {
    const odd = { properties: { any: true, none: false }, required: ['any'] };
    const described = describeTool(
      { definition: { ...definition, inputSchema: odd } } as unknown as Tool,
      'mcp',
    );
    expect(described).toMatchObject({
      inputSchema: { type: 'object', properties: { any: {}, none: { not: {} } }, required: ['any'] },
    });
  });
});
