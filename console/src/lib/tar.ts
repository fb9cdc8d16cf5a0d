export interface TextFile {
  /** At most 100 bytes. */
  readonly path: string;
  readonly content: string;
  readonly executable?: boolean;
}

const block = 512;
const encoder = new TextEncoder();

/** Files as a gzipped tar. @throws RangeError for a path that is too long */
export function archiveOf(files: readonly TextFile[]): Promise<Blob> {
  const entries = files.flatMap(({ path, content, executable = false }) => {
    const bytes = encoder.encode(content);
    const padding = new Uint8Array((block - (bytes.length % block)) % block);
    return [headOf(path, bytes.length, executable), bytes, padding];
  });
  const tar = new Blob([...entries, new Uint8Array(2 * block)]);
  const packed = tar.stream().pipeThrough(new CompressionStream('gzip'));
  return new Response(packed, { headers: { 'content-type': 'application/gzip' } }).blob();
}

/** The tar header of a regular file with mode 0644, or 0755 if executable. */
function headOf(path: string, size: number, executable: boolean): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(block);
  const write = (offset: number, text: string): void => head.set(encoder.encode(text), offset);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  if (encoder.encode(path).length > 100) throw new RangeError(`The path ${path} is too long`);
  write(0, path);
  write(100, octal(executable ? 0o755 : 0o644, 7));
  write(108, octal(0, 7));
  write(116, octal(0, 7));
  write(124, octal(size, 11));
  write(136, octal(0, 11));
  write(156, '0');
  write(257, 'ustar\0' + '00');
  // The checksum is computed with spaces in its own field.
  write(148, ' '.repeat(8));
  write(
    148,
    `${octal(
      head.reduce((sum, byte) => sum + byte, 0),
      6,
    )} `,
  );
  return head;
}
