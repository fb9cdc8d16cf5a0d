import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';

/** Thrown if a path is a pipe, a device or a folder. */
export class NotRegularFile extends Error {
  override readonly name = 'NotRegularFile';
}

/**
 * Opens an untrusted path for reading; links are followed. Opening a pipe would wait for its writer, blocking one of the
 * four libuv threads of the server even beyond its shutdown.
 * @throws NotRegularFile, or the system error
 */
export async function openRegularFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  const isFile = await file.stat().then(
    (found) => found.isFile(),
    () => false,
  );
  if (isFile) return file;
  await file.close();
  throw new NotRegularFile(`${path} is not a regular file`);
}

/** The first bytes of a regular file as Latin-1. @throws NotRegularFile, or the system error */
export async function headOf(path: string, maxBytes: number): Promise<string> {
  const file = await openRegularFile(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** SHA-256 of a regular file in hex. Hashed in chunks, because one read of many MiB would block the event loop. */
export async function hashOfFile(path: string): Promise<string> {
  const file = await openRegularFile(path);
  try {
    const hash = createHash('sha256');
    const stream = file.createReadStream({ autoClose: false, highWaterMark: 262_144 });
    for await (const chunk of stream) hash.update(chunk as Buffer);
    return hash.digest('hex');
  } finally {
    await file.close();
  }
}

/** Reads a regular file, up to the size that `stat` reports. @throws NotRegularFile; Error if it is larger than `maxBytes` */
export async function readRegularFile(path: string, maxBytes: number): Promise<string> {
  const file = await openRegularFile(path);
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw new Error(`${path} has ${size} bytes, more than ${maxBytes}`);
    const content = Buffer.alloc(size);
    let length = 0;
    for (let read = 1; read > 0 && length < size; length += read) {
      read = (await file.read(content, length, size - length, length)).bytesRead;
    }
    return content.toString('utf8', 0, length);
  } finally {
    await file.close();
  }
}

/** The stats of a path; undefined if there is nothing, or it is not accessible. */
export const statOf = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);
