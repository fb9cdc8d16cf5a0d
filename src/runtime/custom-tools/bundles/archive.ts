import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  createReadStream,
  fchmodSync,
  mkdirSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs';
import { opendir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { createGunzip } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import { sha256 } from '../../../base/common/canonical-json.js';
import { messageOf } from '../../../base/common/message-of.js';
import { hashOfFile } from '../../../base/common/regular-file.js';

export interface UnpackLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** The files of an archive. */
export interface Unpacked {
  /** SHA-256 of the paths, contents and executable bits of all files, independent of how they were packed. */
  readonly hash: string;
  readonly files: number;
  readonly bytes: number;
}

const maxPathLength = 512;
/** Max bytes of a header that contains a long name. */
const maxMetaBytes = 65_536;
/** Max bytes of headers and padding per entry of a tar. */
const entryOverhead = 4_096;
const gzipMagic = 0x1f;
/** Types of tar entries that are regular files. */
const regularFiles = new Set<string>(['File', 'OldFile', 'ContiguousFile']);

/**
 * Unpacks a gzipped tar into a new folder. Only regular files and folders are created, so that no path can lead out of it.
 * Writes synchronously, so it must run in a thread.
 * @throws Error with a one-line reason; files that were already unpacked stay
 */
export async function unpack(archive: string, folder: string, limits: UnpackLimits): Promise<Unpacked> {
  const unpacking = new Unpacking(folder, limits);
  const parser = new Parser({
    strict: true,
    brotli: false,
    zstd: false,
    maxMetaEntrySize: maxMetaBytes,
    onReadEntry: (entry) => unpacking.take(entry),
  });
  let failure: unknown;
  parser.on('error', (error: unknown) => (failure ??= error));
  let isAtEnd = false;
  parser.on('eof', () => (isAtEnd = true));
  let remaining = limits.maxBytes + limits.maxEntries * entryOverhead;
  for await (const chunk of gunzip(archive)) {
    remaining -= chunk.length;
    if (remaining < 0) throw tooLarge(limits);
    // The parser would read all zeros that follow the end of a tar.
    if (!isAtEnd) parser.write(chunk);
    if (failure !== undefined) break;
  }
  parser.end();
  if (failure !== undefined) throw new Error(`it cannot be read: ${messageOf(failure)}`);
  return unpacking.result();
}

/** The hash of a folder, equal to that of the bundle that was unpacked there. Links and other special files change it. */
export async function hashFolder(folder: string): Promise<string> {
  const lines: string[] = [];
  for await (const entry of await opendir(folder, { recursive: true })) {
    if (entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    const content = entry.isFile() ? await hashOfFile(path) : 'no file';
    lines.push(lineOf(relative(folder, path), statSync(path, { throwIfNoEntry: false })?.mode ?? 0, content));
  }
  return hashOf(lines);
}

/** The mode of an unpacked file: read-only, executable if it was so for its owner. */
const modeOf = (mode: number): number => ((mode & 0o100) !== 0 ? 0o555 : 0o444);
/** The line of a file in the text that is hashed. */
const lineOf = (path: string, mode: number, hash: string): string =>
  `${modeOf(mode).toString(8)} ${hash} ${path}\n`;
/** The hash of a bundle. @param lines of its files, in any order */
const hashOf = (lines: readonly string[]): string => sha256([...lines].sort().join(''));

/** The tar in an archive. @throws Error if there is none */
async function* gunzip(archive: string): AsyncGenerator<Buffer> {
  const source = createReadStream(archive);
  const tar = source.pipe(createGunzip());
  source.once('error', (error) => tar.destroy(error));
  let isFirst = true;
  try {
    for await (const chunk of tar as AsyncIterable<Buffer>) {
      // The parser would unpack a second compression without a limit.
      if (isFirst && chunk[0] === gzipMagic) throw new Error('it is compressed twice');
      isFirst = false;
      yield chunk;
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw code?.startsWith('Z_') ? new Error(`it is no gzip: ${message}`) : error;
  } finally {
    source.destroy();
  }
}

const tooLarge = ({ maxBytes }: UnpackLimits): Error =>
  new Error(`it unpacks to more than ${maxBytes} bytes`);

class Unpacking {
  /** Lines of the created files, by path. */
  private readonly lines = new Map<string, string>();
  private readonly folders = new Set<string>();
  private entries = 0;
  private bytes = 0;

  constructor(
    private readonly folder: string,
    private readonly limits: UnpackLimits,
  ) {
    this.makeFolder('.');
  }

  /** Creates the file or folder of an entry. @throws Error with a one-line reason */
  take(entry: ReadEntry): void {
    const { type } = entry;
    const path = plainPath(entry.path);
    if (++this.entries > this.limits.maxEntries)
      throw new Error(`it has more than ${this.limits.maxEntries} files and folders`);
    if (type === 'Directory') {
      this.makeFolder(path);
      entry.resume();
    } else if (regularFiles.has(type)) this.makeFile(path, entry);
    else {
      const advice = type.endsWith('Link') ? '; leave a virtual environment out' : '';
      throw new Error(`${JSON.stringify(path)} is a ${type}: only files and folders may be in it${advice}`);
    }
  }

  result(): Unpacked {
    return { hash: hashOf([...this.lines.values()]), files: this.lines.size, bytes: this.bytes };
  }

  private makeFile(path: string, entry: ReadEntry): void {
    this.bytes += entry.size;
    if (this.bytes > this.limits.maxBytes) throw tooLarge(this.limits);
    if (this.lines.has(path)) throw new Error(`${JSON.stringify(path)} is in it twice`);
    this.makeFolder(dirname(path));
    const mode = modeOf(entry.mode ?? 0);
    const file = openSync(join(this.folder, path), 'wx', mode);
    // Overrides the server's umask, because the tool may run as another user.
    fchmodSync(file, mode);
    const hash = createHash('sha256');
    entry.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      for (let written = 0; written < chunk.length;) written += writeSync(file, chunk, written);
    });
    entry.on('end', () => {
      closeSync(file);
      this.lines.set(path, lineOf(path, mode, hash.digest('hex')));
    });
  }

  private makeFolder(path: string): void {
    if (this.folders.has(path)) return;
    if (path !== '.') this.makeFolder(dirname(path));
    const folder = join(this.folder, path);
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    this.folders.add(path);
  }
}

/** Characters that make a path look like another, such as direction marks. Joiners are allowed: some languages need them. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\ufffd]|(?![\u200c\u200d])\p{Cf}/u;

/** @throws Error for a path that leaves the folder or contains unreadable characters */
function plainPath(path: string): string {
  const quoted = JSON.stringify(path.slice(0, 100));
  if (path.length > maxPathLength || unprintable.test(path))
    throw new Error(`${quoted} is no path: at most ${maxPathLength} characters, none that cannot be printed`);
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (path.startsWith('/') || parts.includes('..')) throw new Error(`${quoted} leads out of the bundle`);
  return parts.join('/') || '.';
}
