import type OpenAI from 'openai';
import type { ToolDefinition } from '../../web/contract/tool.js';
import { toolFormats } from './tool-formats.js';

/** The compiler holds the formats against OpenAI's own types; the other SDKs' clients read theirs in test/platforms. */
toolFormats.openai satisfies (definition: ToolDefinition) => OpenAI.ChatCompletionFunctionTool;
toolFormats['openai-responses'] satisfies (definition: ToolDefinition) => OpenAI.Responses.FunctionTool;

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
const about = { name: 'find', description: 'Finds' };

it('each platform is told of a tool in its own words', () => {
  expect(toolFormats.openai(definition)).toEqual({
    type: 'function',
    function: { ...about, parameters: inputSchema },
  });
  expect(toolFormats['openai-responses'](definition)).toEqual({
    type: 'function',
    ...about,
    parameters: inputSchema,
    strict: false,
  });
  expect(toolFormats.anthropic(definition)).toEqual({ ...about, input_schema: inputSchema });
  expect(toolFormats.distri(definition)).toEqual({ ...about, type: 'function', parameters: inputSchema });
  expect(toolFormats.mcp(definition)).toEqual({
    ...about,
    inputSchema,
    annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
  });
  expect(toolFormats.holmes(definition)).toEqual({
    ...about,
    parameters: { q: { type: 'string', required: false } },
  });
});

it('every schema is said to be one of an object', () => {
  const odd = { properties: { any: true, none: false }, required: ['any'] };
  expect(toolFormats.mcp({ ...definition, inputSchema: odd })).toMatchObject({
    inputSchema: { type: 'object', properties: { any: {}, none: { not: {} } }, required: ['any'] },
  });
});

describe('hints of an MCP server’s tool', () => {
  const unsaid = { readOnly: false, idempotent: false, destructive: true, openWorld: true };
  it.each<[string, object, object, object | undefined]>([
    ['that it gives none of', {}, unsaid, undefined],
    ['of which it gives one', { readOnlyHint: true }, { ...unsaid, readOnly: true }, { readOnlyHint: true }],
    ['and its title', { title: 'Find' }, unsaid, { title: 'Find' }],
    [
      'that are usual',
      { readOnlyHint: false, destructiveHint: true },
      unsaid,
      { readOnlyHint: false, destructiveHint: true },
    ],
    ['that decide otherwise', { openWorldHint: false }, unsaid, { openWorldHint: false }],
    [
      'beside those of its registration',
      { idempotentHint: false },
      { readOnly: true, idempotent: false, destructive: false, openWorld: false },
      { readOnlyHint: true, idempotentHint: false, destructiveHint: false, openWorldHint: false },
    ],
  ])('%s', (_what, hints, annotations, expected) => {
    const { annotations: listed } = toolFormats.mcp({ ...definition, annotations, hints } as ToolDefinition);
    expect(listed).toEqual(expected);
  });
});

it('a title is given to MCP alone', () => {
  const titled = { ...definition, title: 'Find it' };
  expect(toolFormats.mcp(titled)).toMatchObject({ title: 'Find it' });
  for (const format of ['openai', 'openai-responses', 'anthropic', 'distri', 'holmes'] as const)
    expect(toolFormats[format](titled)).toEqual(toolFormats[format](definition));
});

describe('OpenAI’s strict mode', () => {
  const parameters = {
    type: 'object',
    properties: { q: { type: ['string', 'null'] } },
    required: ['q'],
    additionalProperties: false,
  };

  it('has schemas of its own', () => {
    expect(toolFormats.openai(definition, true).function).toEqual({ ...about, strict: true, parameters });
    expect(toolFormats['openai-responses'](definition, true)).toMatchObject({ strict: true, parameters });
  });

  it('is not claimed for a schema that has no such form', () => {
    const open = { ...definition, inputSchema: { type: 'object' } };
    expect(toolFormats.openai(open, true).function).not.toHaveProperty('strict');
    expect(toolFormats['openai-responses'](open, true)).toMatchObject({ strict: false });
  });
});
