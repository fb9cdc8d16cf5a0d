import { chown, lstat, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityOf, lives } from '../common/process-identity.js';
import { isToolUid } from './tool-user.js';

/** The name tells which gateway made a folder. */
const prefix = 'toolkeeper-private-';
const makerOfFolder = /^toolkeeper-private-(\d+-\d+)-/;

/** A new folder of mode 0700 among the temporary files. @param owner a tool's own user; absent: the gateway's */
export async function makePrivateFolder(owner?: number): Promise<string> {
  const maker = identityOf(process.pid) ?? `${process.pid}-0`;
  const folder = await mkdtemp(join(await realpath(tmpdir()), `${prefix}${maker}-`));
  if (owner !== undefined) await chown(folder, owner, owner);
  return folder;
}

/** Removes the folders of gateways that were killed. A stranger's folder of such a name stays. */
export async function removeDeadPrivateFolders(firstUid: number): Promise<void> {
  const isLeftBehind = (name: string): boolean => {
    const maker = makerOfFolder.exec(name)?.[1];
    return maker !== undefined && !lives(maker);
  };
  const found = (await readdir(tmpdir())).filter(isLeftBehind).map((name) => join(tmpdir(), name));
  await Promise.all(found.map((folder) => removeOurs(folder, firstUid)));
}

async function removeOurs(folder: string, firstUid: number): Promise<void> {
  const about = await lstat(folder).catch(() => undefined);
  if (!about?.isDirectory()) return;
  const gateway = process.getuid?.();
  if (about.uid !== gateway && !(gateway === 0 && isToolUid(about.uid, firstUid))) return;
  // Another gateway that starts may be removing it as well.
  await rm(folder, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
}
