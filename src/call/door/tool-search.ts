import { Injectable } from '@nestjs/common';
import { LexicalSearch, type Searched } from '../../base/lexical-search/lexical-search.js';
import { everyday } from '../../base/lexical-search/vocabulary.js';
import type { Tool, ToolDefinition } from '../../web/contract/tool.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { ToolRegistry } from './tool-registry.js';
import { defineTool, whole, words } from '../../web/contract/define-tool.js';
import { mayCall } from '../../web/contract/principal.js';

/** A tool that a query may mean. */
export interface FoundTool {
  readonly tool: Tool;
  /** 0 to 1; 0 where only a part of its name is the query's. */
  readonly confidence: number;
}

/** One state of the registry, ready to be searched. */
interface Index {
  readonly tools: readonly Tool[];
  readonly search: LexicalSearch;
}

const searched: Searched<ToolDefinition> = {
  fields: [
    { boost: 3, text: ({ name }) => name },
    { boost: 1.5, text: ({ tags }) => tags.join('\n') },
    { boost: 1, text: ({ description }) => description },
    { boost: 0.7, text: ({ inputSchema }) => membersOf(inputSchema).join('\n') },
  ],
  phrases: ({ name }) => [name],
  vocabulary: everyday,
};

/** Searches tools. The index is built by the first search after a change of the registry, so that calls never wait for it. */
@Injectable()
export class ToolSearch {
  private index: Promise<Index> | undefined;

  constructor(private readonly registry: ToolRegistry) {
    registry.changes.subscribe(() => (this.index = undefined));
  }

  /** @returns by confidence descending, then name ascending */
  async find(query: string): Promise<FoundTool[]> {
    const { tools, search } = await (this.index ??= this.read());
    const { confidenceAt } = search.ask(query);
    const part = query.trim().toLowerCase();
    return tools
      .map((tool, place) => ({ tool, confidence: rounded(confidenceAt(place)) }))
      .filter(({ tool, confidence }) => confidence > 0 || tool.definition.name.toLowerCase().includes(part))
      .sort((a, b) => b.confidence - a.confidence);
  }

  private async read(): Promise<Index> {
    const tools = this.registry.all();
    return {
      tools,
      search: await LexicalSearch.of(
        tools.map(({ definition }) => definition),
        searched,
      ),
    };
  }
}

/** Pages are cut by it as a text. */
const rounded = (confidence: number): number => Number(confidence.toFixed(6));

/** Names and descriptions of an input's members, nested ones included. */
function membersOf(schema: JsonSchema): string[] {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, unknown>);
  return properties.flatMap(([name, property]) => {
    if (typeof property !== 'object' || property === null) return [name];
    const own = property as JsonSchema;
    const { description, items } = own;
    const inside = typeof items === 'object' && items !== null ? membersOf(items as JsonSchema) : [];
    return [name, typeof description === 'string' ? description : '', ...membersOf(own), ...inside];
  });
}

/** Lets an agent look for the few definitions that it needs, where loading all would fill its context. */
export const findTools = (search: ToolSearch): Tool =>
  defineTool<{ query: string; limit: number }>({
    name: 'find_tools',
    description:
      'Find the tools that can do something, with the schema of their input. Use when none of the tools at hand fits the task.',
    input: {
      type: 'object',
      properties: {
        query: words(1_000, 'What the tool should do'),
        limit: whole(1, 20, 5, 'Tools in the answer'),
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
