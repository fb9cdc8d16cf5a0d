import { HttpClient } from '../../../base/outbound/http-client.js';
import { isObject, type JsonObject } from '../../../base/common/json.js';
import { UpstreamFailure } from '../../../base/outbound/upstream-failure.js';
import type { SearchProvider } from '../../../base/config/builtin-settings.js';
import { defineTool, whole, words } from '../../../web/contract/define-tool.js';
import type { Tool } from '../../../web/contract/tool.js';
import { callerMistake } from '../failures.js';

/** Timeout of one query. */
const timeoutMs = 10_000;
const maxResponseBytes = 1_048_576;

/** One search result, as plain text. */
interface SearchRow {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/** A client of the configured search engine. */
export class WebSearch {
  private readonly http: HttpClient;

  constructor(private readonly provider: SearchProvider) {
    this.http = new HttpClient({ origin: provider.origin, connections: 4, timeoutMs, maxResponseBytes });
  }

  /** Searches the web; the best result is first. @param limit max rows @throws UpstreamFailure */
  async search(query: string, limit: number): Promise<SearchRow[]> {
    // Each provider has a method of its name.
    const rows = await this[this.provider.provider](query, limit);
    return rows.filter(({ url }) => /^https?:/i.test(url) && URL.canParse(url)).slice(0, limit);
  }

  close(): Promise<void> {
    return this.http.close();
  }

  private async searxng(query: string): Promise<SearchRow[]> {
    const answer = await this.ask('/search', { q: query, format: 'json' });
    return listIn(answer, ['results']).map(({ title, url, content }) => rowOf(title, url, content));
  }

  private async brave(query: string, limit: number): Promise<SearchRow[]> {
    const { Parser } = await import('htmlparser2');
    /** Text without its tags, and with its entities resolved. */
    const plainText = (html: string): string => {
      let text = '';
      new Parser({ ontext: (part) => (text += part) }).end(html);
      return text.replace(/\s+/g, ' ').trim();
    };
    const parameters = { q: query, count: String(limit), text_decorations: 'false' };
    const answer = await this.ask('/res/v1/web/search', parameters);
    // An answer without the member `web` has no web results.
    const rows = isObject(answer) && !('web' in answer) ? [] : listIn(answer, ['web', 'results']);
    return rows.map(({ title, url, description }) => {
      const row = rowOf(title, url, description);
      return { ...row, title: plainText(row.title), snippet: plainText(row.snippet) };
    });
  }

  private ask(path: string, query: Record<string, string>): Promise<unknown> {
    const { key } = this.provider;
    const headers = key === undefined ? undefined : { 'x-subscription-token': key };
    return this.http.ask({ method: 'GET', path: this.path(path, query), headers });
  }

  private path(path: string, query: Record<string, string>): string {
    return `${this.provider.base}${path}?${new URLSearchParams(query).toString()}`;
  }
}

/** The list of objects at a path. @throws UpstreamFailure if there is none */
function listIn(answer: unknown, path: readonly string[]): JsonObject[] {
  const list = path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), answer);
  if (Array.isArray(list) && list.every(isObject)) return list;
  throw new UpstreamFailure('invalid_answer', `the answer has no list at ${path.join('.')}`);
}

/** A row of an answer's members, any of which may be missing. */
const rowOf = (title: unknown, url: unknown, snippet: unknown): SearchRow => ({
  title: textOf(title),
  url: textOf(url),
  snippet: textOf(snippet),
});

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

/** An item of a list. */
const bullet = /^\s*(?:[-*•]|\d{1,3}[.)])\s+(.*)$/;

/**
 * The queries in a model's text: one, or a list with bullets or numbers. In a list item only the part in double quotes
 * counts, if there is one; text around the list is ignored.
 */
export function queriesIn(text: string): string[] {
  const items = text.split('\n').flatMap((line) => bullet.exec(line)?.[1] ?? []);
  const queries = items.length > 0 ? items.map((item) => /"([^"]+)"/.exec(item)?.[1] ?? item) : [text];
  const plain = queries.map((query) => query.replace(/\s+/g, ' ').trim());
  return [...new Set(plain.filter((query) => query !== ''))];
}

/** Max queries in one call. */
const maxQueries = 10;

/** The tool that searches the web. */
export const webSearch = (search: WebSearch): Tool =>
  defineTool<{ query: string; limit: number }>({
    name: 'webSearch',
    description:
      'Search the web. Answers titles, addresses and snippets; read a page itself with fetchPage. Several queries at once: a list with bullets or numbers, one query a line.',
    input: {
      type: 'object',
      properties: {
        query: words(4_096, 'One query, or a list of them'),
        limit: whole(1, 20, 10, 'Results for each query'),
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: true },
    tags: ['web'],
    // An error in the text of a result is not a failure of the call.
    semanticErrors: 'off',
    upstream: 'Web search',
    run: async ({ query, limit }) => {
      const queries = queriesIn(query);
      if (queries.length > maxQueries) throw callerMistake(`query holds more than ${maxQueries} queries`);
      const results = await Promise.all(queries.map((each) => search.search(each, limit)));
      // A page that several queries found is listed once, at its first place.
      return [...new Map(results.flat().map((row) => [row.url, row])).values()];
    },
  });
