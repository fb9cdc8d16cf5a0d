import { constants, type Stats } from 'node:fs';
import { type FileHandle, mkdir, open, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../../../base/common/canonical-json.js';
import { callerMistake } from '../failures.js';

/** The schema of a file's name in a tool's input. */
export const filePath = {
  type: 'string',
  pattern: '\\S',
  maxLength: 1_024,
  description: 'Relative to the files folder, such as reports/disk.md',
} as const;

/** The beginning of a file. */
export interface FileContent {
  readonly bytes: Buffer;
  /** Size of the whole file, in bytes. */
  readonly size: number;
}

const { O_APPEND, O_CREAT, O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
/** Flags with which links are not followed, and opening a pipe or a device does not block. */
const safeFlags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/** Free space that is left for the server's journal and database, which may be on the same disk. */
const reserve = { bytes: 1_073_741_824, share: 0.1 };

/** Max folders in a path, and the file. */
const maxParts = 32;

/**
 * The files that tools share, with a folder for each project. Paths are opened part by part, each from the descriptor
 * of its parent, so that links created meanwhile cannot lead out of the folder.
 */
export class ProjectFiles {
  constructor(
    private readonly folder: string,
    private readonly limits: { readonly maxBytes: number },
  ) {}

  /** Reads at most `maxBytes` of a file. @throws ToolFailure with a sentence for the caller */
  async read(project: string, path: string, maxBytes: number): Promise<FileContent> {
    const parts = partsOf(path);
    try {
      const file = await this.open(project, parts, O_RDONLY);
      try {
        const { size } = await regularFileStats(file, path);
        const bytes = Buffer.alloc(Math.min(size, maxBytes));
        let length = 0;
        while (length < bytes.length) {
          const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
          if (bytesRead === 0) break;
          length += bytesRead;
        }
        return { bytes: bytes.subarray(0, length), size };
      } finally {
        await file.close();
      }
    } catch (error) {
      throw failureOf(path, error);
    }
  }

  /**
   * Writes a file, and its folders if needed.
   * @returns the file's path on this machine, and the number of bytes
   * @throws ToolFailure with a sentence for the caller
   */
  async write(
    project: string,
    path: string,
    content: string,
    mode: 'overwrite' | 'append',
  ): Promise<{ fullPath: string; bytesWritten: number }> {
    const parts = partsOf(path);
    const bytes = Buffer.from(content);
    const appends = mode === 'append';
    try {
      await this.checkRoom(bytes.length);
      const file = await this.open(project, parts, O_WRONLY | O_CREAT | (appends ? O_APPEND : 0));
      try {
        const { size } = await regularFileStats(file, path);
        if (appends) this.refuseLarge(size + bytes.length);
        else await file.truncate();
        await file.writeFile(bytes);
      } finally {
        await file.close();
      }
      return { fullPath: join(this.folder, nameOf(project), ...parts), bytesWritten: bytes.length };
    } catch (error) {
      throw failureOf(path, error);
    }
  }

  /** Opens a file folder by folder. Each is opened below its parent's entry in /proc/self/fd, never by a whole path. */
  private async open(project: string, parts: readonly string[], flags: number): Promise<FileHandle> {
    const creates = (flags & O_CREAT) !== 0;
    let handle = await open(this.folder, O_RDONLY | O_DIRECTORY);
    const folders = [nameOf(project), ...parts];
    const name = folders.pop() ?? '';
    for (const folder of folders) {
      handle = await consume(handle, async (base) => {
        if (creates) await mkdir(`${base}/${folder}`, { mode: 0o750 }).catch(ignoreExisting);
        return open(`${base}/${folder}`, O_RDONLY | O_DIRECTORY | safeFlags);
      });
    }
    return consume(handle, (base) => open(`${base}/${name}`, flags | safeFlags, 0o640));
  }

  /** Makes the folder. @throws ToolFailure if the file is too large, or the disk almost full */
  private async checkRoom(size: number): Promise<void> {
    this.refuseLarge(size);
    await mkdir(this.folder, { recursive: true, mode: 0o750 });
    const { bavail, blocks, bsize } = await statfs(this.folder);
    if (bavail * bsize < Math.min(reserve.bytes, blocks * bsize * reserve.share))
      throw callerMistake('The disk of the files is almost full: nothing is written until there is room');
  }

  /** @throws ToolFailure for a file of this size, if that is too large */
  private refuseLarge(size: number): void {
    const { maxBytes } = this.limits;
    if (size > maxBytes)
      throw callerMistake(`A file may have ${maxBytes} bytes; this one would have ${size}`);
  }
}

/** Runs a step with the path of an open handle, then closes the handle. */
async function consume<T>(handle: FileHandle, step: (base: string) => Promise<T>): Promise<T> {
  try {
    return await step(`/proc/self/fd/${handle.fd}`);
  } finally {
    await handle.close();
  }
}

/** Handles the failure to make a folder: one that exists is none. */
function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** The parts of a path. @throws ToolFailure if it leads out of the folder or is no file name */
function partsOf(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (path.includes('\0')) throw callerMistake('path holds a NUL');
  if (path.startsWith('/') || parts.includes('..'))
    throw callerMistake(`${path} leads out of the files: a path is relative to their folder`);
  if (parts.length === 0 || path.endsWith('/')) throw callerMistake(`${path} names no file`);
  if (parts.length > maxParts) throw callerMistake(`path has more than ${maxParts} parts`);
  return parts;
}

/** A folder's name for a project's id, which is any text. */
function nameOf(project: string): string {
  if (/^\w[\w.-]{0,99}$/.test(project)) return project;
  return `~${sha256(project)}`;
}

/** The properties of a file. @throws ToolFailure for special files, and those with hard links, which may lie elsewhere, too */
async function regularFileStats(file: FileHandle, path: string): Promise<Stats> {
  const stats = await file.stat();
  if (!stats.isFile() || stats.nlink > 1) throw callerMistake(`${path} is not a regular file`);
  return stats;
}

/** Reasons by the system's error code. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ELOOP: 'it leads over a link, which is not followed',
  ENOTDIR: 'a part of it is no folder, or a link, which is not followed',
  EISDIR: 'it is a folder',
  EACCES: 'the server may not open it',
  ENXIO: 'it is not a regular file',
  ENAMETOOLONG: 'a part of it is too long',
  ENOSPC: 'the disk is full',
  EROFS: 'nothing can be written there',
};

/** A system error as a sentence for the caller. Unknown errors stay unchanged: they are faults of the server. */
function failureOf(path: string, error: unknown): unknown {
  const reason = reasons[(error as NodeJS.ErrnoException).code ?? ''];
  return reason === undefined ? error : callerMistake(`${path} cannot be opened: ${reason}`);
}
