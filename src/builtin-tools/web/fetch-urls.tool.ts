import { defineTool } from '../../tool-contract/define-tool.js';
import type { Tool } from '../../tool-contract/tool.js';
import { ToolFailure } from '../../tool-contract/tool-outcome.js';
import { callerMistake } from '../failures.js';
import type { Page, Pages } from './pages.js';

/** A URL, or a row that holds one, such as webSearch answers. */
type UrlLike = string | Readonly<Record<string, unknown>>;

interface NotRead {
  readonly url: string;
  readonly error: string;
}

const fields = ['url', 'URL', 'link', 'href', 'uri'];
/** Characters of each page's text: ten of them are to fit into a model's context. */
const maxLength = 10_000;

export const fetchUrls = (pages: Pages): Tool =>
  defineTool<{ urls: readonly UrlLike[] }>({
    name: 'fetchURLs',
    description:
      'Read several web pages, PDFs or text files. Takes URLs, or rows of webSearch as they are. Answers each page like fetchPage; one that cannot be read has an error instead.',
    input: {
      type: 'object',
      properties: {
        urls: {
          type: 'array',
          minItems: 1,
          maxItems: 10,
          items: {
            type: ['string', 'object'],
            maxLength: 8_192,
            description: `A URL, or an object that holds it as ${fields.join(', ')}`,
          },
        },
      },
      required: ['urls'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: true },
    tags: ['web'],
    // Others wrote what it hands over: an error in it is no failure of the call.
    semanticErrors: 'off',
    timeoutMs: 60_000,
    upstream: 'The pages',
    run: async ({ urls: given }, { signal }) => {
      const urls = given.map(urlOf);
      const read = await Promise.all(urls.map((url) => readOne(pages, url, signal)));
      const [first] = read;
      if (first instanceof ToolFailure && read.every((each) => each instanceof ToolFailure)) throw first;
      return read.map((each, index): Page | NotRead =>
        each instanceof ToolFailure ? { url: urls[index] ?? '', error: each.message } : each,
      );
    },
  });

/** @throws ToolFailure when there is none */
function urlOf(like: UrlLike, index: number): string {
  const url = typeof like === 'string' ? like : fields.map((name) => like[name]).find(Boolean);
  if (typeof url === 'string') return url;
  throw callerMistake(`urls[${index}] holds no URL: it must be text, or have ${fields.join(', ')}`);
}

async function readOne(pages: Pages, url: string, signal: AbortSignal): Promise<Page | ToolFailure> {
  try {
    return await pages.read(url, maxLength, signal);
  } catch (error) {
    if (error instanceof ToolFailure && !signal.aborted) return error;
    throw error;
  }
}
