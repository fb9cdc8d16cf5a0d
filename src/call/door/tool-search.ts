import { Injectable } from '@nestjs/common';
import { stemmer } from 'stemmer';
import { isObject } from '../../base/common/json.js';
import { LexicalSearch, type Searched } from '../../base/lexical-search/lexical-search.js';
import { everyday, type Vocabulary } from '../../base/lexical-search/vocabulary.js';
import { isShown, type Tool, type ToolDefinition } from '../../web/contract/tool.js';
import type { JsonSchema } from '../../base/schemas/json-schema.js';
import { CallReports } from './call-reports.js';
import { ToolRegistry } from './tool-registry.js';
import { defineTool, whole, words } from '../../web/contract/define-tool.js';

export interface FoundTool {
  readonly tool: Tool;
  /** 0 to 1; 0 if only a part of its name matches. */
  readonly confidence: number;
  /** Sort key of the list, for pages. */
  readonly place: string;
}

/** One state of the registry, ready to be searched. */
interface Index {
  readonly tools: readonly Tool[];
  readonly search: LexicalSearch;
}

/** Verbs in names of tools, each with synonyms that agents use. */
const verbs =
  'list enumerate show give overview find, describe detail inspect view info information, create add make new register, ' +
  'update change edit modify alter correct rename, delete remove erase drop destroy purge rid, start launch, ' +
  'stop halt terminate kill, cancel abort, restart reboot, rotate renew replace reissue regenerate, ' +
  'export download dump, import upload ingest, archive shelve, restore recover undo, approve accept confirm, ' +
  'enable activate, disable deactivate suspend, copy clone duplicate, sync synchronise synchronize, send notify';

const synonyms = verbs.split(', ').flatMap((words) => {
  const [verb = '', ...others] = words.split(' ').map(stemmer);
  return others.map((other) => [other, verb] as const);
});

const toolVocabulary: Vocabulary = { ...everyday, synonyms: new Map(synonyms) };

/** Beginnings of questions about things, which stand for the verb `list`. */
const questionWords = /^what\b|\b(which|how many|who (is|are))\b/gi;

/** The parts of a definition that are searched, by weight. */
const searchedParts: Searched<ToolDefinition> = {
  fields: [
    { boost: 3, text: ({ name }) => name },
    { boost: 1.5, text: ({ tags }) => tags.join('\n') },
    { boost: 1, text: ({ description }) => description },
    { boost: 0.7, text: ({ inputSchema }) => membersOf(inputSchema).join('\n') },
  ],
  phrases: ({ name }) => [name],
  vocabulary: toolVocabulary,
};

/** Searches tools. The index is built by the first search after a change of the registry, so that calls never wait for it. */
@Injectable()
export class ToolSearch {
  private index: Promise<Index> | undefined;

  constructor(
    private readonly registry: ToolRegistry,
    private readonly reports: CallReports,
  ) {
    registry.changes.subscribe(() => (this.index = undefined));
  }

  /** Tools by confidence; equal ones: read-only tools first, then by use, then by name. */
  async find(query: string): Promise<FoundTool[]> {
    const { tools, search } = await (this.index ??= this.buildIndex());
    const { confidenceAt } = search.find(query.replace(questionWords, 'list'));
    const part = query.trim().toLowerCase();
    return tools
      .map((tool, at) => this.ranked(tool, roundedUp(confidenceAt(at))))
      .filter(({ tool, confidence }) => confidence > 0 || tool.definition.name.toLowerCase().includes(part))
      .sort((a, b) => (a.place < b.place ? -1 : 1));
  }

  /** A result with its place in the order. */
  private ranked(tool: Tool, confidence: number): FoundTool {
    const { name, annotations } = tool.definition;
    // Use is compared by powers of ten, so that the order stays the same from page to page.
    const unused = maxPowerOfTen - Math.ceil(Math.log10(this.reports.usesOf(name) + 1));
    const rank = [(1 - confidence).toFixed(2), annotations.readOnly ? 0 : 1, unused, name];
    return { tool, confidence, place: rank.join(' ') };
  }

  private async buildIndex(): Promise<Index> {
    const tools = this.registry.all();
    const definitions = tools.map(({ definition }) => definition);
    return { tools, search: await LexicalSearch.of(definitions, searchedParts) };
  }
}

/** Above the power of ten of any count, so that the difference has two digits. */
const maxPowerOfTen = 50;

/** Rounds up, because smaller differences come from the length of a description. */
const roundedUp = (confidence: number): number => Math.ceil(confidence * 100) / 100;

/** Names and descriptions of an input's members, nested ones included. */
function membersOf(schema: JsonSchema): string[] {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, unknown>);
  return properties.flatMap(([name, property]) => {
    if (!isObject(property)) return [name];
    const { description, items } = property;
    const inside = isObject(items) ? membersOf(items) : [];
    return [name, typeof description === 'string' ? description : '', ...membersOf(property), ...inside];
  });
}

/** Min confidence of a tool to show to an agent, as measured by test/e2e/find-tools.e2e-spec.ts. */
const minConfidence = 0.3;

const nothingFits =
  'Nothing fits: no tool here does that, by its words. Ask again in other words, or go on without a tool.';

/** The tool with which an agent searches for the definitions that it needs, because all would fill its context. */
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
    run: async ({ query, limit }, { principal, context: { uiSession } }) => {
      const isFit = ({ tool, confidence }: FoundTool): boolean =>
        (confidence === 0 || confidence >= minConfidence) && isShown(tool, { principal, uiSession });
      const found = (await search.find(query)).filter(isFit);
      const fitting = found.filter(({ tool }) => tool.definition.name !== 'find_tools');
      const shown = fitting.slice(0, limit);
      const last = shown.at(-1)?.confidence;
      return {
        tools: shown.map(({ tool }) => described(tool.definition)),
        total: fitting.length,
        moreWithSameScore: fitting.slice(limit).filter(({ confidence }) => confidence === last).length,
        ...(last === undefined && { note: nothingFits }),
      };
    },
  });

/** A definition, as `find_tools` shows it. */
const described = ({ name, description, inputSchema }: ToolDefinition) => ({
  name,
  description,
  inputSchema,
});
