import { Logger } from '@nestjs/common';
import { type FSWatcher, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isScriptName } from '../launch/program-files.js';

/**
 * Watches the folder of installed tools (CUSTOM_TOOLS_DIR) and its subfolders for changes that may concern a tool. It may
 * miss changes (network mounts, too many watches), so the reconciler also polls.
 */
export class InstalledFolders {
  private readonly logger = new Logger(InstalledFolders.name);
  /** Watched folders by path; `identity` tells whether it is still the same folder. */
  private readonly watched = new Map<string, { readonly identity: string; readonly watcher: FSWatcher }>();
  /** Whether the log says already that a folder cannot be watched. */
  private isFailureLogged = false;
  private isClosed = false;

  constructor(
    private readonly dir: string,
    private readonly onChange: () => void,
  ) {}

  /** Watches the folders that exist now, also one that was deleted and created again. */
  async watch(): Promise<void> {
    const entries = await readdir(this.dir, { withFileTypes: true }).catch(() => []);
    const folders = entries.filter((entry) => !entry.isFile()).map(({ name }) => join(this.dir, name));
    const identities = new Map<string, string>();
    for (const folder of [this.dir, ...folders]) {
      const identity = await folderIdentity(folder);
      if (identity !== undefined) identities.set(folder, identity);
    }
    if (this.isClosed) return;
    for (const [folder, { identity }] of this.watched)
      if (identities.get(folder) !== identity) this.drop(folder);
    for (const [folder, identity] of identities) if (!this.watched.has(folder)) this.add(folder, identity);
  }

  close(): void {
    this.isClosed = true;
    for (const folder of [...this.watched.keys()]) this.drop(folder);
  }

  private add(folder: string, identity: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_kind, name) => this.onFileChange(folder, name));
      watcher.on('error', (error) => this.cannotWatch(folder, error));
      this.watched.set(folder, { identity, watcher });
    } catch (error) {
      this.cannotWatch(folder, error);
    }
  }

  /** Ignores data and logs that tools write beside their files. @param name null if the system does not report it */
  private onFileChange(folder: string, name: string | null): void {
    if (name === null || name === 'tool.json' || isScriptName(name) || folder === this.dir) this.onChange();
  }

  /** Stops watching a folder after an error, which is logged once. */
  private cannotWatch(folder: string, error: unknown): void {
    this.drop(folder);
    if (this.isFailureLogged) return;
    this.isFailureLogged = true;
    this.logger.warn({ err: error }, `${folder} cannot be watched; its changes are found by polling`);
  }

  private drop(folder: string): void {
    this.watched.get(folder)?.watcher.close();
    this.watched.delete(folder);
  }
}

/** Differs for a folder that was created anew, even with the same name and inode. Undefined if it is not a folder. */
async function folderIdentity(folder: string): Promise<string | undefined> {
  const stats = await stat(folder, { bigint: true }).catch(() => undefined);
  return stats?.isDirectory() ? `${stats.ino} ${stats.birthtimeNs}` : undefined;
}
