import { convert, type FormatCallback, type HtmlToTextOptions } from 'html-to-text';
import { Parser } from 'htmlparser2';
import { cut } from '../failures.js';

/** A document of the web, by the way in which it is read. */
export interface WebDocument {
  readonly kind: 'html' | 'pdf' | 'text';
  readonly bytes: Uint8Array;
  /** The charset that the server names. */
  readonly charset?: string;
  /** Characters of the content that are wanted. */
  readonly maxLength: number;
}

export interface DocumentText {
  /** Empty if the document has none. */
  readonly title: string;
  readonly content: string;
  /** Characters of the whole content, or of as much of a long PDF as was read. */
  readonly contentLength: number;
  /** There is more. */
  readonly truncated: boolean;
}

/** Limits after which reading a long PDF stops. */
const maxPdf = { chars: 1_000_000, ms: 5_000 };

/**
 * The readable text of a document. Its author decides how much time and memory this takes: it belongs into
 * a process that can be ended.
 * @throws Error with a sentence that says why it cannot be read
 */
export async function readDocument({ kind, bytes, charset, maxLength }: WebDocument): Promise<DocumentText> {
  const { title, content, rest = false } = await readers[kind](bytes, charset);
  const wanted = cut(content, maxLength);
  const { length: contentLength } = content;
  return { title, content: wanted, contentLength, truncated: rest || wanted.length < contentLength };
}

interface Read {
  readonly title: string;
  readonly content: string;
  /** There is more that was not read. */
  readonly rest?: boolean;
}

type Reader = (bytes: Uint8Array, charset: string | undefined) => Read | Promise<Read>;

const readers: Readonly<Record<WebDocument['kind'], Reader>> = {
  html: readHtml,
  pdf: readPdf,
  text: (bytes, charset) => ({ title: '', content: decode(bytes, charset) }),
};

/** Not `header`, where an article has its title, and not `form`, which some pages are as a whole. */
const skipped = [
  'img',
  'svg',
  'nav',
  'footer',
  'aside',
  'button',
  'select',
  'noscript',
  'template',
  'iframe',
];

/** Cells of a row, separated as in Markdown. */
const cell: FormatCallback = (element, walk, builder) => {
  builder.addInline(' | ');
  walk(element.children, builder);
};

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

function readHtml(bytes: Uint8Array, charset: string | undefined): Read {
  const html = decode(bytes, charset ?? declaredCharset(bytes));
  return { title: titleOf(html), content: convert(html, options) };
}

/** `<meta charset>` or `<meta http-equiv>`, which stand at the beginning. */
function declaredCharset(bytes: Uint8Array): string | undefined {
  const beginning = Buffer.from(bytes.subarray(0, 1_024)).toString('latin1');
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]+)/i.exec(beginning)?.[1];
}

/** Bytes of a charset that is not known are read as UTF-8; each that breaks its charset leaves a mark. */
function decode(bytes: Uint8Array, charset = 'utf-8'): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

const titleEnd = 65_536;

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
  parser.end(html.slice(0, titleEnd));
  return cut(title.replace(/\s+/g, ' ').trim(), 500);
}

async function readPdf(bytes: Uint8Array): Promise<Read> {
  const { getDocumentProxy } = await import('unpdf');
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
  const until = performance.now() + maxPdf.ms;
  let content = '';
  let page = 0;
  while (page < pdf.numPages && content.length < maxPdf.chars && performance.now() < until) {
    const { items } = await (await pdf.getPage(++page)).getTextContent();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    content += `${text.trim()}\n\n`;
  }
  const { info } = await pdf.getMetadata();
  const { Title: title } = info as { Title?: unknown };
  return {
    title: typeof title === 'string' ? cut(title, 500) : '',
    content: content.trim(),
    rest: page < pdf.numPages,
  };
}
