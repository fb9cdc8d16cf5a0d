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

interface FileContent {
  readonly bytes: Buffer;
  /** Size of the whole file, in bytes. */
  readonly size: number;
}

const { O_APPEND, O_CREAT, O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
/** A link is never followed; a pipe or a device never waited for. */
const carefully = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/** Space that stays for the server's own journal and database, which may stand on the same disk. */
const reserve = { bytes: 1_073_741_824, share: 0.1 };

const maxParts = 32;

/**
 * The files that tools share, a folder for each project. A path is walked part by part from the folder's own descriptor, so
 * that it cannot leave the folder, whatever links are put in its way meanwhile.
 */
export class ProjectFiles {
  constructor(
    private readonly folder: string,
    private readonly limits: { readonly maxBytes: number },
  ) {}

  /** @throws ToolFailure with a sentence for the caller */
  async read(project: string, path: string, maxBytes: number): Promise<FileContent> {
    const parts = partsOf(path);
    try {
      const file = await this.open(project, parts, O_RDONLY);
      try {
        const { size } = await regularFile(file, path);
        const bytes = Buffer.alloc(Math.min(size, maxBytes));
        let length = 0;
        for (let read = 1; read > 0 && length < bytes.length; length += read) {
          read = (await file.read(bytes, length, bytes.length - length, length)).bytesRead;
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
   * @returns the file's place on this machine, and the bytes that were written
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
      await this.makeRoom(bytes.length);
      const file = await this.open(project, parts, O_WRONLY | O_CREAT | (appends ? O_APPEND : 0));
      try {
        const { size } = await regularFile(file, path);
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

  /** Each folder is opened in the one before it, which Linux shows below /proc: nothing is looked up by a whole path. */
  private async open(project: string, parts: readonly string[], flags: number): Promise<FileHandle> {
    const creates = (flags & O_CREAT) !== 0;
    let handle = await open(this.folder, O_RDONLY | O_DIRECTORY);
    const folders = [nameOf(project), ...parts];
    const name = folders.pop() ?? '';
    for (const folder of folders) {
      handle = await within(handle, async (base) => {
        if (creates) await mkdir(`${base}/${folder}`, { mode: 0o750 }).catch(unlessThere);
        return open(`${base}/${folder}`, O_RDONLY | O_DIRECTORY | carefully);
      });
    }
    return within(handle, (base) => open(`${base}/${name}`, flags | carefully, 0o640));
  }

  private async makeRoom(size: number): Promise<void> {
    this.refuseLarge(size);
    await mkdir(this.folder, { recursive: true, mode: 0o750 });
    const { bavail, blocks, bsize } = await statfs(this.folder);
    if (bavail * bsize < Math.min(reserve.bytes, blocks * bsize * reserve.share))
      throw callerMistake('The disk of the files is almost full: nothing is written until there is room');
  }

  private refuseLarge(size: number): void {
    const { maxBytes } = this.limits;
    if (size > maxBytes)
      throw callerMistake(`A file may have ${maxBytes} bytes; this one would have ${size}`);
  }
}

/** @param step gets a path that leads to what the handle has open; the handle is closed after it */
async function within<T>(handle: FileHandle, step: (base: string) => Promise<T>): Promise<T> {
  try {
    return await step(`/proc/self/fd/${handle.fd}`);
  } finally {
    await handle.close();
  }
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** @throws ToolFailure for what leads out, or cannot be a name */
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

/** A file with a second name may have it anywhere. */
async function regularFile(file: FileHandle, path: string): Promise<Stats> {
  const found = await file.stat();
  if (!found.isFile() || found.nlink > 1) throw callerMistake(`${path} is not a regular file`);
  return found;
}

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

/** A system error in words; what is not known is a fault of the server. */
function failureOf(path: string, error: unknown): unknown {
  const reason = reasons[(error as NodeJS.ErrnoException).code ?? ''];
  return reason === undefined ? error : callerMistake(`${path} cannot be opened: ${reason}`);
}
