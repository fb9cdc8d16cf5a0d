import { deflateSync } from 'node:zlib';

/**
 * A small PDF with a line of text on each page.
 * @param content of each page, compressed already, instead of its line
 */
export function pdfOf(pages: readonly string[], title = 'Untitled', content?: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  const add = (body: string, stream?: Buffer): void => {
    offsets.push(length);
    const begin = Buffer.from(`${offsets.length} 0 obj\n${body}\n`);
    const all = stream ? [begin, Buffer.from('stream\n'), stream, Buffer.from('\nendstream\n')] : [begin];
    const object = Buffer.concat([...all, Buffer.from('endobj\n')]);
    parts.push(object);
    length += object.length;
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
    const stream = content ?? deflateSync(Buffer.from(`BT /F1 12 Tf 72 720 Td (${text}) Tj ET`));
    add(`<< /Length ${stream.length} /Filter /FlateDecode >>`, stream);
  });
  const whole = Buffer.concat(parts);
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = offsets.length + 1;
  const tail = `xref\n0 ${size}\n0000000000 65535 f \n${entries}trailer\n<< /Size ${size} /Root 1 0 R /Info 4 0 R >>\nstartxref\n${whole.length}\n%%EOF\n`;
  return Buffer.concat([whole, Buffer.from(tail)]);
}
