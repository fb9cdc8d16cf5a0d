import { DocumentReader } from './document-reader.js';
import type { DocumentText, WebDocument } from './document-text.js';
import { pdfOf } from '../../../../test/support/pdf.js';

/** real: the process that reads. */
describe('DocumentReader', () => {
  const reader = new DocumentReader({ readMs: 60_000, readMb: 128 });
  afterAll(() => reader.stop());

  const read = (
    kind: WebDocument['kind'],
    bytes: string | Uint8Array,
    changes: Partial<WebDocument> = {},
  ): Promise<DocumentText> =>
    reader.read(
      { kind, bytes: Buffer.from(bytes), maxLength: 1_000, ...changes },
      new AbortController().signal,
    );

  it('reads what a page has to say', async () => {
    const page = `<!doctype html><html><head><title> A &amp; B\n page</title><style>p { color: red }</style></head><body>
      <nav>Home About</nav><script>alert(1)</script>
      <main><h1>Heading</h1><p>First <a href="/x">link</a> &lt;here&gt;.</p><ul><li>one</li><li>two</li></ul>
      <table><tr><th>disk</th><th>used</th></tr><tr><td>sda</td><td>98 %</td></tr></table></main><footer>Imprint</footer></body></html>`;
    const { title, content, contentLength } = await read('html', page);
    expect(title).toBe('A & B page');
    expect(content).toBe('Heading\n\nFirst link <here>.\n\n * one\n * two\n\n| disk | used\n| sda | 98 %');
    expect(contentLength).toBe(content.length);
  });

  it('reads all of a page that does not say what its content is', async () => {
    expect(await read('html', '<p>Just <b>this</b>')).toMatchObject({ title: '', content: 'Just this' });
  });

  it('reads the charset that the server or the page names, and what is in none', async () => {
    const latin = Buffer.from('<p>caf\xe9', 'latin1');
    expect((await read('html', latin, { charset: 'iso-8859-1' })).content).toBe('café');
    const says = Buffer.concat([Buffer.from('<meta charset="windows-1252">'), latin]);
    expect((await read('html', says)).content).toBe('café');
    expect((await read('html', latin, { charset: 'no-such' })).content).toBe('caf\ufffd');
    expect((await read('text', 'plain <text>')).content).toBe('plain <text>');
  });

  it('cuts where it is told to, between two characters', async () => {
    expect(await read('text', 'a😀b', { maxLength: 2 })).toMatchObject({
      content: 'a',
      contentLength: 4,
      truncated: true,
    });
  });

  it('reads the pages of a PDF', async () => {
    const { title, content } = await read('pdf', pdfOf(['Disk is full', 'Second page'], 'Runbook'));
    expect({ title, content }).toEqual({ title: 'Runbook', content: 'Disk is full\n\nSecond page' });
  });

  it('says of a broken one that it cannot be read', async () => {
    await expect(read('pdf', '%PDF-1.7 broken')).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(/^The document cannot be read: /) as string,
    });
  });
});
