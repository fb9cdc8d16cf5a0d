import { awayFailure, callerMistake, Slots } from '../failures.js';
import type { DocumentReader } from './document-reader.js';
import type { DocumentText, WebDocument } from './document-text.js';
import type { OutboundAnswer, OutboundHttp } from './outbound-http.js';

/** As its reader gets it. */
export interface Page extends DocumentText {
  /** After redirects. */
  readonly url: string;
  /** Without parameters. */
  readonly contentType: string;
}

interface PageLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly maxRedirects: number;
  readonly maxConcurrent: number;
  readonly maxWaiting: number;
}

/** Pages of the web as text. Only so many are loaded at a time: each takes memory and a turn of the reader. */
export class Pages {
  private readonly slots: Slots;

  constructor(
    private readonly http: OutboundHttp,
    private readonly reader: DocumentReader,
    private readonly limits: PageLimits,
  ) {
    this.slots = new Slots('pages are loaded', limits);
  }

  /**
   * @param maxLength characters of the content
   * @throws ToolFailure with a sentence for the caller
   */
  read(url: string, maxLength: number, signal: AbortSignal): Promise<Page> {
    return this.slots.run(signal, () => this.load(url, maxLength, signal));
  }

  private async load(url: string, maxLength: number, signal: AbortSignal): Promise<Page> {
    const { timeoutMs, maxBytes, maxRedirects } = this.limits;
    const headers = { accept: 'text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5' };
    const request = { url, method: 'GET', headers, timeoutMs, maxBytes, maxRedirects } as const;
    const answer = await this.http.send(request, signal);
    refuseFailed(answer, maxBytes);
    const { contentType, document } = typed(answer);
    const text = await this.reader.read({ ...document, bytes: answer.body, maxLength }, signal);
    return { url: answer.url, ...text, contentType };
  }
}

function refuseFailed({ url, status, statusText, whole }: OutboundAnswer, maxBytes: number): void {
  const { host } = new URL(url);
  if (status >= 500 || status === 429) throw awayFailure(`${host} answered ${status} ${statusText}`.trim());
  if (status < 200 || status >= 300) throw callerMistake(`${host} answered ${status} ${statusText}`.trim());
  if (!whole) throw callerMistake(`The page is larger than ${maxBytes / 1_048_576} MiB`);
}

interface Typed {
  readonly contentType: string;
  readonly document: Pick<WebDocument, 'kind' | 'charset'>;
}

const isHtml = /^(text\/html|application\/xhtml\+xml)$/;
const isText = /^(text\/.+|application\/(json|xml|yaml|x-yaml|javascript|x-ndjson|.+\+json|.+\+xml))$/;

/** @throws ToolFailure for what is neither HTML, PDF nor text */
function typed({ headers, body }: OutboundAnswer): Typed {
  const [contentType = '', ...parameters] = (headers.get('content-type') ?? '').toLowerCase().split(';');
  const type = contentType.trim();
  const charset = /charset\s*=\s*"?([\w-]+)/.exec(parameters.join(';'))?.[1];
  const kindOf = (): WebDocument['kind'] | undefined => {
    if (type === 'application/pdf' || body.subarray(0, 5).toString('latin1') === '%PDF-') return 'pdf';
    if (isHtml.test(type)) return 'html';
    return isText.test(type) ? 'text' : undefined;
  };
  const kind = kindOf();
  if (!kind) {
    const what = type === '' ? 'The page does not say what it is' : `The page is ${type}`;
    throw callerMistake(`${what}: HTML, PDF and text can be read`);
  }
  return { contentType: type, document: { kind, ...(charset !== undefined && { charset }) } };
}
