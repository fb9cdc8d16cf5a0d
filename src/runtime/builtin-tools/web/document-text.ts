import { convert, type FormatCallback, type HtmlToTextOptions } from 'html-to-text';
import { Parser } from 'htmlparser2';
import { cut } from '../limits.js';

/** A document of the web, to be read as its kind. */
export interface WebDocument {
  readonly kind: 'html' | 'pdf' | 'text';
  readonly bytes: Uint8Array;
  /** The charset that the server names. */
  readonly charset?: string;
  /** Max characters of the content. */
  readonly maxLength: number;
}

/** The text of a document. */
export interface DocumentText {
  /** Empty if the document has no title. */
  readonly title: string;
  readonly content: string;
  /** Characters of the whole content, or of the part of a long PDF that was read. */
  readonly contentLength: number;
  /** Whether the document has more text. */
  readonly truncated: boolean;
}

/** Limits after which reading a long PDF stops. */
const maxPdf = { chars: 1_000_000, ms: 5_000 };

/**
 * The text of a document. A hostile document can take much time and memory, so this must run in a worker that can be ended.
 * @throws Error with a sentence that says why it cannot be read
 */
export async function readDocument({ kind, bytes, charset, maxLength }: WebDocument): Promise<DocumentText> {
  const { title, content, hasMore = false } = await readers[kind](bytes, charset);
  const excerpt = cut(content, maxLength);
  const { length: contentLength } = content;
  return { title, content: excerpt, contentLength, truncated: hasMore || excerpt.length < contentLength };
}

/** The whole text of a document. */
interface DocumentContent {
  readonly title: string;
  readonly content: string;
  /** Whether a part was not read. */
  readonly hasMore?: boolean;
}

/** Reads documents of one kind. */
type Reader = (bytes: Uint8Array, charset: string | undefined) => DocumentContent | Promise<DocumentContent>;

const readers: Readonly<Record<WebDocument['kind'], Reader>> = {
  html: readHtml,
  pdf: readPdf,
  text: (bytes, charset) => ({ title: '', content: decode(bytes, charset) }),
};

/** Elements without content. Not `header`, which contains titles, and not `form`, which some pages consist of. */
const skipped = 'img svg nav footer aside button select noscript template iframe'.split(' ');

/** Separates the cells of a row as in Markdown. */
const cell: FormatCallback = (element, walk, builder) => {
  builder.addInline(' | ');
  walk(element.children, builder);
};

/** Conversion of a page to text. */
const options: HtmlToTextOptions = {
  wordwrap: false,
  // The page's declared main content, otherwise all of it.
  baseElements: { selectors: ['main', 'article', 'body'], orderBy: 'selectors' },
  limits: { maxBaseElements: 1, maxDepth: 512 },
  formatters: { cell },
  selectors: [
    { selector: 'a', options: { ignoreHref: true } },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    { selector: 'tr', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    ...['td', 'th'].map((selector) => ({ selector, format: 'cell' })),
    ...skipped.map((selector) => ({ selector, format: 'skip' })),
  ],
};

function readHtml(bytes: Uint8Array, charset: string | undefined): DocumentContent {
  const html = decode(bytes, charset ?? declaredCharset(bytes));
  return { title: titleOf(html), content: convert(html, options) };
}

/** The charset of `<meta charset>` or `<meta http-equiv>` at the beginning. */
function declaredCharset(bytes: Uint8Array): string | undefined {
  const beginning = Buffer.from(bytes.subarray(0, 1_024)).toString('latin1');
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]+)/i.exec(beginning)?.[1];
}

/** Decodes bytes, as UTF-8 if the charset is unknown. Invalid bytes become U+FFFD. */
function decode(bytes: Uint8Array, charset = 'utf-8'): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** Beginning of a page in which its title is looked for. */
const titleSearchChars = 65_536;
const maxTitleLength = 500;

/** The first title of a page; empty without one. */
function titleOf(html: string): string {
  let title = '';
  let state: 'before' | 'in' | 'after' = 'before';
  const parser = new Parser({
    onopentagname: (name) => {
      if (name === 'title' && state === 'before') state = 'in';
    },
    ontext: (text) => {
      if (state === 'in') title += text;
    },
    onclosetag: (name) => {
      if (name === 'title') state = 'after';
    },
  });
  parser.end(html.slice(0, titleSearchChars));
  return cut(title.replace(/\s+/g, ' ').trim(), maxTitleLength);
}

/** Reads a PDF page by page, until its end or a limit. */
async function readPdf(bytes: Uint8Array): Promise<DocumentContent> {
  const { getDocumentProxy } = await import('unpdf');
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
  const until = performance.now() + maxPdf.ms;
  let content = '';
  let page = 0;
  while (page < pdf.numPages && content.length < maxPdf.chars && performance.now() < until) {
    const { items } = await (await pdf.getPage(++page)).getTextContent();
    const texts = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : ''));
    content += `${texts.join('').trim()}\n\n`;
  }
  const { info } = await pdf.getMetadata();
  const { Title: title } = info as { Title?: unknown };
  return {
    title: typeof title === 'string' ? cut(title, maxTitleLength) : '',
    content: content.trim(),
    hasMore: page < pdf.numPages,
  };
}
