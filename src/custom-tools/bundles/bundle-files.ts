import { isUtf8 } from 'node:buffer';
import { open, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoredBundle } from './bundles.repository.js';
import { packageFolders } from './ecosystems.js';

export interface BundleFile {
  /** Below the bundle's folder. */
  readonly path: string;
  /** Null: it is no text, or there is too much of it. */
  readonly content: string | null;
  readonly executable: boolean;
}

export interface BundleFiles {
  /** By path. */
  readonly data: readonly BundleFile[];
  /** All files are there with their contents. */
  readonly complete: boolean;
}

const mostFiles = 200;
/** Of all contents together. */
const mostBytes = 1_048_576;
const executableBits = 0o111;

/** Reads the files of an unpacked bundle as they were uploaded: without packages that were installed. */
export async function filesIn(folder: string, { files, installLog }: StoredBundle): Promise<BundleFiles> {
  const data: BundleFile[] = [];
  let bytesLeft = mostBytes;
  for await (const path of pathsBelow(folder, '', installLog === null ? [] : packageFolders)) {
    if (data.length === mostFiles) break;
    const { size, ...file } = await read(join(folder, path), bytesLeft);
    if (file.content !== null) bytesLeft -= size;
    data.push({ path, ...file });
  }
  data.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { data, complete: data.length === files && data.every(({ content }) => content !== null) };
}

async function* pathsBelow(
  folder: string,
  below: string,
  leftOut: readonly string[] = [],
): AsyncGenerator<string> {
  for await (const entry of await opendir(join(folder, below))) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (!entry.isDirectory()) yield path;
    else if (!leftOut.includes(path)) yield* pathsBelow(folder, path);
  }
}

async function read(path: string, mostSize: number) {
  const file = await open(path);
  try {
    const { size, mode } = await file.stat();
    const bytes = size > mostSize ? undefined : await file.readFile();
    const isText = bytes !== undefined && isUtf8(bytes) && !bytes.includes(0);
    return { size, executable: (mode & executableBits) !== 0, content: isText ? bytes.toString() : null };
  } finally {
    await file.close();
  }
}
