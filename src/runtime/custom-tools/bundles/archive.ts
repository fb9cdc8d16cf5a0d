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

/** The caps on an archive. */
export interface UnpackLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

export interface Unpacked {
  /** SHA-256 over paths, contents and executable bits of all files: the same files have the same, however they were packed. */
  readonly hash: string;
  readonly files: number;
  readonly bytes: number;
}

const maxPathLength = 512;
/** Maximum bytes of the headers that give the next entry a long name. */
const maxMetaBytes = 65_536;
/** Bytes of an entry in a tar beside its content: headers and padding. */
const entryOverhead = 4_096;
const gzipMagic = 0x1f;
const regularFiles = new Set<string>(['File', 'OldFile', 'ContiguousFile']);

/**
 * Unpacks a gzipped tar of regular files and folders into a folder that there is not yet. Nothing else is ever made there,
 * so that no path can lead out of it. It writes synchronously: it belongs into a thread.
 * @throws Error with a one-line reason; files unpacked before it are not removed
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
  let left = limits.maxBytes + limits.maxEntries * entryOverhead;
  for await (const chunk of gunzipped(archive)) {
    left -= chunk.length;
    if (left < 0) throw tooLarge(limits);
    // Zeros may follow the end of a tar, and the parser would read all of them.
    if (!isAtEnd) parser.write(chunk);
    if (failure !== undefined) break;
  }
  parser.end();
  if (failure !== undefined) throw new Error(`it cannot be read: ${messageOf(failure)}`);
  return unpacking.result();
}

/** The hash of a folder's files, which is that of the bundle that was unpacked there. What is neither file nor folder counts as well. */
export async function hashFolder(folder: string): Promise<string> {
  const lines: string[] = [];
  for await (const entry of await opendir(folder, { recursive: true })) {
    if (entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    const content = entry.isFile() ? await fileHash(path) : 'no file';
    lines.push(listed(relative(folder, path), statSync(path, { throwIfNoEntry: false })?.mode ?? 0, content));
  }
  return hashOf(lines);
}

const fileHash = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
};
const modeOf = (mode: number): number => ((mode & 0o100) !== 0 ? 0o555 : 0o444);
const listed = (path: string, mode: number, hash: string): string =>
  `${modeOf(mode).toString(8)} ${hash} ${path}\n`;
const hashOf = (lines: readonly string[]): string => sha256([...lines].sort().join(''));

/** The tar in an archive. @throws Error where there is none */
async function* gunzipped(archive: string): AsyncGenerator<Buffer> {
  const source = createReadStream(archive);
  const tar = source.pipe(createGunzip());
  source.once('error', (error) => tar.destroy(error));
  let isFirst = true;
  try {
    for await (const chunk of tar as AsyncIterable<Buffer>) {
      // The parser would unpack what is compressed twice without a bound.
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

/** Makes the files of one archive. */
class Unpacking {
  private readonly listed = new Map<string, string>();
  private readonly folders = new Set<string>();
  private entries = 0;
  private bytes = 0;

  constructor(
    private readonly folder: string,
    private readonly limits: UnpackLimits,
  ) {
    this.makeFolder('.');
  }

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
    return { hash: hashOf([...this.listed.values()]), files: this.listed.size, bytes: this.bytes };
  }

  private makeFile(path: string, entry: ReadEntry): void {
    this.bytes += entry.size;
    if (this.bytes > this.limits.maxBytes) throw tooLarge(this.limits);
    if (this.listed.has(path)) throw new Error(`${JSON.stringify(path)} is in it twice`);
    this.makeFolder(dirname(path));
    const mode = modeOf(entry.mode ?? 0);
    const file = openSync(join(this.folder, path), 'wx', mode);
    // Independent of the server's umask: a tool may run as a user of its own.
    fchmodSync(file, mode);
    const hash = createHash('sha256');
    entry.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      for (let written = 0; written < chunk.length;) written += writeSync(file, chunk, written);
    });
    entry.on('end', () => {
      closeSync(file);
      this.listed.set(path, listed(path, mode, hash.digest('hex')));
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

/** Marks that turn or hide text make a path look like another; joiners are part of some languages. */
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
