import { defineTool } from '../../tool-contract/define-tool.js';
import type { Tool } from '../../tool-contract/tool.js';
import { callerMistake } from '../failures.js';
import type { WebSearch } from './web-search.js';

const bullet = /^\s*(?:[-*•]|\d{1,3}[.)])\s+(.*)$/;

/**
 * The queries in what a model wrote: one, or a list with bullets or numbers, of which a part in double quotes is what is
 * meant. What stands around such a list is talk.
 */
export function queriesIn(text: string): string[] {
  const items = text.split('\n').flatMap((line) => bullet.exec(line)?.[1] ?? []);
  const queries = items.length > 0 ? items.map((item) => /"([^"]+)"/.exec(item)?.[1] ?? item) : [text];
  const plain = queries.map((query) => query.replace(/\s+/g, ' ').trim());
  return [...new Set(plain.filter((query) => query !== ''))];
}

interface Input {
  readonly query: string;
  readonly limit: number;
}

const mostQueries = 10;

export const webSearch = (search: WebSearch): Tool =>
  defineTool<Input>({
    name: 'webSearch',
    description:
      'Search the web. Answers titles, addresses and snippets; read a page itself with fetchPage. Several queries at once: a list with bullets or numbers, one query a line.',
    input: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          pattern: '\\S',
          maxLength: 4_096,
          description: 'One query, or a list of them',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 20,
          default: 10,
          description: 'Results for each query',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: true },
    tags: ['web'],
    // Others wrote what it hands over: an error in it is no failure of the call.
    semanticErrors: 'off',
    upstream: 'Web search',
    run: async ({ query, limit }) => {
      const queries = queriesIn(query);
      if (queries.length > mostQueries) throw callerMistake(`query holds more than ${mostQueries} queries`);
      const found = await Promise.all(queries.map((each) => search.search(each, limit)));
      // A page that several queries found stands where it was found first.
      return [...new Map(found.flat().map((row) => [row.url, row])).values()];
    },
  });
