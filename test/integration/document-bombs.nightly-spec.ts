import { once } from 'node:events';
import { createGzip, createDeflate, gzipSync, type Deflate, type Gzip } from 'node:zlib';
import { pdfOf } from '../support/pdf.js';
import { WebSite } from '../support/web-site.js';
import { OutboundRules } from '../../src/base/outbound/addresses.js';
import { DocumentReader } from '../../src/runtime/builtin-tools/web/document-reader.js';
import { OutboundHttp } from '../../src/runtime/builtin-tools/web/outbound-http.js';
import { type Page, Pages } from '../../src/runtime/builtin-tools/web/pages.js';

const gigabyte = 1_073_741_824;

/** White space without end, as it goes over the wire. */
async function deflated(bytes: number, into: Gzip | Deflate): Promise<Buffer> {
  const chunks: Buffer[] = [];
  into.on('data', (chunk: Buffer) => chunks.push(chunk));
  const part = Buffer.alloc(16_777_216, ' ');
  for (let left = bytes; left > 0; left -= part.length) {
    if (!into.write(part)) await once(into, 'drain');
  }
  into.end();
  await once(into, 'end');
  return Buffer.concat(chunks);
}

interface Bomb {
  readonly type: string;
  readonly encoding?: string;
  readonly body: Buffer;
}

async function makeBombs(): Promise<Map<string, Bomb>> {
  const bombs = new Map<string, Bomb>();
  const html = { type: 'text/html' };
  const nested = (open: string, close: string, count: number): Buffer =>
    Buffer.from(`<body>${open.repeat(count)}end${close.repeat(count)}`);
  const zeros = await deflated(gigabyte, createGzip());
  bombs.set('gzip', { ...html, encoding: 'gzip', body: zeros });
  bombs.set('gzip-twice', { ...html, encoding: 'gzip, gzip', body: gzipSync(zeros) });
  bombs.set('depth', { ...html, body: nested('<div>', '', 1_000_000) });
  bombs.set('lists', { ...html, body: nested('<ul><li>', '</li></ul>', 200_000) });
  bombs.set('tables', { ...html, body: nested('<table><tr><td>', '</td></tr></table>', 120_000) });
  bombs.set('strange-ends', { ...html, body: nested('<i>', '</b>', 700_000) });
  bombs.set('attributes', { ...html, body: Buffer.from(`<p ${'a=1 '.repeat(1_200_000)}>end`) });
  bombs.set('entities', { ...html, body: Buffer.from(`<p>${'&amp;'.repeat(1_000_000)}end`) });
  bombs.set('pdf', {
    type: 'application/pdf',
    body: pdfOf(['end'], 'T', await deflated(gigabyte, createDeflate())),
  });
  bombs.set('pdf-pages', { type: 'application/pdf', body: pdfOf(Array<string>(9_000).fill('end')) });
  return bombs;
}

/** The longest turn of this thread's event loop, in milliseconds of its own processor time. */
function watchTurns(): { stop(): number } {
  const spent = (): number => process.threadCpuUsage().user / 1_000 + process.threadCpuUsage().system / 1_000;
  let [at, used, longest] = [performance.now(), spent(), 0];
  const timer = setInterval(() => {
    const [now, usedNow] = [performance.now(), spent()];
    longest = Math.max(longest, Math.min(now - at, usedNow - used));
    [at, used] = [performance.now(), spent()];
  }, 1);
  return {
    stop: () => {
      clearInterval(timer);
      return longest;
    },
  };
}

const names = [
  ...['gzip', 'gzip-twice', 'depth', 'lists', 'tables', 'strange-ends', 'attributes', 'entities'],
  ...['pdf', 'pdf-pages'],
];

/** real: HTTP, and the process that reads; what strangers may send is as large as it may be. */
describe('a document that is made to take long', () => {
  let site: WebSite;
  let reader: DocumentReader;
  let pages: Pages;

  beforeAll(async () => {
    const bombs = await makeBombs();
    site = await WebSite.start(({ url = '' }, response) => {
      const { type, encoding, body } = bombs.get(url.slice(1)) ?? {
        type: 'text/plain',
        body: Buffer.from('fine'),
      };
      response.writeHead(200, { 'content-type': type, ...(encoding && { 'content-encoding': encoding }) });
      response.end(body);
    });
    const rules = OutboundRules.parse([`127.0.0.1:${site.port}`]);
    if (!rules) throw new Error('not understood');
    reader = new DocumentReader({ readMs: 6_500, readMb: 256 });
    const limits = {
      timeoutMs: 30_000,
      maxBytes: 5_242_880,
      maxRedirects: 0,
      maxConcurrent: 16,
      maxWaiting: 1,
    };
    pages = new Pages(new OutboundHttp(rules, () => undefined), reader, limits);
  });
  afterAll(async () => {
    await site.stop();
    await reader.stop();
  });

  const principal = { userId: 'test', scopes: new Set<never>() };
  const read = (path: string): Promise<Page> =>
    pages.read(`${site.url}/${path}`, 1_000, { signal: new AbortController().signal, principal });

  it.each(names)('holds nobody up, takes no memory here, and leaves the next one be: %s', async (bomb) => {
    await read('warm');
    const before = process.memoryUsage.rss();
    const turns = watchTurns();
    const ending = await read(bomb).then(
      ({ content }) => `read: ${content.length} characters`,
      (error: Error) => error.message,
    );
    const longest = turns.stop();
    const grown = (process.memoryUsage.rss() - before) / 1_048_576;
    expect(ending).toMatch(/^read: |^The document cannot be read: |^The page is larger than 5 MiB/);
    expect(longest).toBeLessThan(50);
    expect(grown).toBeLessThan(64);
    expect((await read('fine')).content).toBe('fine');
  });
});
