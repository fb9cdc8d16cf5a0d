import { deflateSync } from 'node:zlib';

/**
 * A small PDF with a line of text on each page.
 * @param padding bytes of white space that each page's content inflates to besides
 */
export function pdfOf(pages: readonly string[], title = 'Untitled', padding = 0): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  const add = (body: string, stream?: Buffer): void => {
    offsets.push(Buffer.concat(parts).length);
    parts.push(Buffer.from(`${offsets.length} 0 obj\n${body}\n`));
    if (stream) parts.push(Buffer.from('stream\n'), stream, Buffer.from('\nendstream\n'));
    parts.push(Buffer.from('endobj\n'));
  };
  const pageIds = pages.map((_text, index) => 5 + 2 * index);
  add('<< /Type /Catalog /Pages 2 0 R >>');
  add(`<< /Type /Pages /Count ${pages.length} /Kids [${pageIds.map((id) => `${id} 0 R`).join(' ')}] >>`);
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  add(`<< /Title (${title}) >>`);
  pages.forEach((text, index) => {
    const page = pageIds[index] ?? 0;
    add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${page + 1} 0 R >>`,
    );
    const content = deflateSync(
      Buffer.concat([Buffer.alloc(padding, ' '), Buffer.from(`BT /F1 12 Tf 72 720 Td (${text}) Tj ET`)]),
    );
    add(`<< /Length ${content.length} /Filter /FlateDecode >>`, content);
  });
  const whole = Buffer.concat(parts);
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = offsets.length + 1;
  const tail = `xref\n0 ${size}\n0000000000 65535 f \n${entries}trailer\n<< /Size ${size} /Root 1 0 R /Info 4 0 R >>\nstartxref\n${whole.length}\n%%EOF\n`;
  return Buffer.concat([whole, Buffer.from(tail)]);
}
