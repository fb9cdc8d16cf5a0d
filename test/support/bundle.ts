import { gzipSync } from 'node:zlib';
import { Header } from 'tar';

export interface Entry {
  readonly path: string;
  readonly content?: string | Buffer;
  /** Of tar: a regular file where absent. */
  readonly type?: 'File' | 'Directory' | 'SymbolicLink' | 'Link' | 'CharacterDevice' | 'BlockDevice' | 'FIFO';
  readonly mode?: number;
  readonly linkpath?: string;
}

/** A tar as nobody but a test would write it: whatever the entries say stands in it. */
export function tarOf(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ path, content = '', type = 'File', mode = 0o644, linkpath }) => {
    const header = Buffer.alloc(512);
    const body = Buffer.from(content);
    new Header({ path, type, mode, size: body.length, ...(linkpath && { linkpath }) }).encode(header);
    return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1_024)]);
}

export const archiveOf = (entries: readonly Entry[]): Buffer => gzipSync(tarOf(entries));
