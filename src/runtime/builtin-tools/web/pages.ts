import type { AppConfig } from '../../../base/config/app-config.js';
import { awayFailure, callerMistake } from '../failures.js';
import { ConcurrencyLimit, type WaitingRun } from '../limits.js';
import type { DocumentReader } from './document-reader.js';
import type { DocumentText, WebDocument } from './document-text.js';
import type { OutboundAnswer, OutboundHttp } from './outbound-http.js';
import { defineTool, whole, words } from '../../../web/contract/define-tool.js';
import type { Tool } from '../../../web/contract/tool.js';
import { ToolFailure } from '../../../web/contract/tool-outcome.js';

/** The text of a page. */
export interface Page extends DocumentText {
  /** URL after redirects. */
  readonly url: string;
  /** The media type without parameters. */
  readonly contentType: string;
}

/** Loads web pages as text, with limited concurrency because each takes memory and a worker. */
export class Pages {
  private readonly limit: ConcurrencyLimit;

  constructor(
    private readonly http: OutboundHttp,
    private readonly reader: DocumentReader,
    private readonly limits: Omit<AppConfig['builtinTools']['page'], 'readMs' | 'readMb'>,
  ) {
    this.limit = new ConcurrencyLimit('pages are loaded', limits);
  }

  /** Loads a page. @param maxLength max characters of the content @throws ToolFailure with a sentence for the caller */
  read(url: string, maxLength: number, run: WaitingRun): Promise<Page> {
    return this.limit.run(run, () => this.load(url, maxLength, run));
  }

  private async load(url: string, maxLength: number, run: WaitingRun): Promise<Page> {
    const { timeoutMs, maxBytes, maxRedirects } = this.limits;
    const headers = { accept: 'text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5' };
    const request = { url, method: 'GET', headers, timeoutMs, maxBytes, maxRedirects } as const;
    const answer = await this.http.send(request, run.signal);
    refuseFailed(answer, maxBytes);
    const { contentType, document } = typeOf(answer);
    const text = await this.reader.read({ ...document, bytes: answer.body, maxLength }, run.signal);
    return { url: answer.url, ...text, contentType };
  }
}

/** @throws ToolFailure for an error status, or a page that is too large */
function refuseFailed({ url, status, statusText, whole: isWhole }: OutboundAnswer, maxBytes: number): void {
  const { host } = new URL(url);
  if (status >= 500 || status === 429) throw awayFailure(`${host} answered ${status} ${statusText}`.trim());
  if (status < 200 || status >= 300) throw callerMistake(`${host} answered ${status} ${statusText}`.trim());
  if (!isWhole) throw callerMistake(`The page is larger than ${maxBytes / 1_048_576} MiB`);
}

/** The type of a page. */
interface DocumentType {
  readonly contentType: string;
  readonly document: Pick<WebDocument, 'kind' | 'charset'>;
}

const htmlTypes = /^(text\/html|application\/xhtml\+xml)$/;
const textTypes = /^(text\/.+|application\/(json|xml|yaml|x-yaml|javascript|x-ndjson|.+\+json|.+\+xml))$/;

/** The type of an answer. @throws ToolFailure if it is neither HTML, PDF nor text */
function typeOf({ headers, body }: OutboundAnswer): DocumentType {
  const [contentType = '', ...parameters] = (headers.get('content-type') ?? '').toLowerCase().split(';');
  const type = contentType.trim();
  const charset = /charset\s*=\s*"?([\w-]+)/.exec(parameters.join(';'))?.[1];
  const kind = kindOf(type, body);
  const what = type === '' ? 'The page does not say what it is' : `The page is ${type}`;
  if (!kind) throw callerMistake(`${what}: HTML, PDF and text can be read`);
  return { contentType: type, document: { kind, ...(charset !== undefined && { charset }) } };
}

/** The kind of a document that can be read; undefined for others. */
function kindOf(type: string, body: Buffer): WebDocument['kind'] | undefined {
  if (type === 'application/pdf' || body.subarray(0, 5).toString('latin1') === '%PDF-') return 'pdf';
  if (htmlTypes.test(type)) return 'html';
  return textTypes.test(type) ? 'text' : undefined;
}

/** Settings of both tools. */
const webSettings = {
  annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: true },
  tags: ['web'],
  // An error in the text of a page is not a failure of the call.
  semanticErrors: 'off',
} as const;

/** The tool that reads one page. */
export const fetchPage = (pages: Pages): Tool =>
  defineTool<{ url: string; maxLength: number }>({
    name: 'fetchPage',
    description: 'Read one web page, PDF or text file at a URL. Answers its text without markup.',
    input: {
      type: 'object',
      properties: {
        url: words(8_192, 'http or https'),
        maxLength: whole(100, 50_000, 10_000, 'Max characters of the text'),
      },
      required: ['url'],
      additionalProperties: false,
    },
    ...webSettings,
    upstream: 'The page',
    run: ({ url, maxLength }, run) => pages.read(url, maxLength, run),
  });

/** A URL, or an object with one, such as a result of webSearch. */
type UrlLike = string | Readonly<Record<string, unknown>>;

/** A page that could not be read. */
interface UnreadPage {
  readonly url: string;
  readonly error: string;
}

/** Members of an object that may hold its URL. */
const urlMembers = ['url', 'URL', 'link', 'href', 'uri'];
/** Max characters of each page's text, so that ten pages fit into a model's context. */
const maxLengthOfEach = 10_000;

/** The tool that reads several pages. */
export const fetchUrls = (pages: Pages): Tool =>
  defineTool<{ urls: readonly UrlLike[] }>({
    name: 'fetchURLs',
    description:
      'Read several web pages, PDFs or text files. Takes URLs, or rows of webSearch unchanged. Answers each page like fetchPage; a page that cannot be read has an error instead.',
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
            description: `A URL, or an object with the URL as ${urlMembers.join(', ')}`,
          },
        },
      },
      required: ['urls'],
      additionalProperties: false,
    },
    ...webSettings,
    timeoutMs: 60_000,
    upstream: 'The pages',
    run: async ({ urls: given }, run) => {
      const urls = given.map(urlOf);
      const results = await Promise.all(urls.map((url) => readOne(pages, url, run)));
      const [first] = results;
      if (first instanceof ToolFailure && results.every((each) => each instanceof ToolFailure)) throw first;
      return results.map((each, index): Page | UnreadPage =>
        each instanceof ToolFailure ? { url: urls[index] ?? '', error: each.message } : each,
      );
    },
  });

/** The URL in an item of the input. @throws ToolFailure if there is none */
function urlOf(like: UrlLike, index: number): string {
  const url = typeof like === 'string' ? like : urlMembers.map((name) => like[name]).find(Boolean);
  if (typeof url === 'string') return url;
  throw callerMistake(`urls[${index}] holds no URL: it must be text, or have ${urlMembers.join(', ')}`);
}

/** Reads a page. @returns its failure, unless the call itself has ended */
async function readOne(pages: Pages, url: string, run: WaitingRun): Promise<Page | ToolFailure> {
  try {
    return await pages.read(url, maxLengthOfEach, run);
  } catch (error) {
    if (error instanceof ToolFailure && !run.signal.aborted) return error;
    throw error;
  }
}
