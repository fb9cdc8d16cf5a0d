import { defineTool } from '../tool-contract/define-tool.js';
import { mayCall } from '../tool-contract/principal.js';
import type { Tool } from '../tool-contract/tool.js';
import type { ToolSearch } from './tool-search.js';

/** Lets an agent look for the few definitions that it needs, where loading all would fill its context. */
export const findTools = (search: ToolSearch): Tool =>
  defineTool<{ query: string; limit: number }>({
    name: 'find_tools',
    description:
      'Find the tools that can do something, with the schema of their input. Use when none of the tools at hand fits the task.',
    input: {
      type: 'object',
      properties: {
        query: { type: 'string', pattern: '\\S', maxLength: 1_000, description: 'What the tool should do' },
        limit: { type: 'integer', minimum: 1, maximum: 20, default: 5, description: 'Tools in the answer' },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: ['tools'],
    run: async ({ query, limit }, { principal }) => {
      const found = (await search.find(query)).map(({ tool: { definition } }) => definition);
      const callable = found.filter((tool) => tool.name !== 'find_tools' && mayCall(principal, tool));
      const tools = callable.slice(0, limit);
      return {
        tools: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
        total: callable.length,
      };
    },
  });
