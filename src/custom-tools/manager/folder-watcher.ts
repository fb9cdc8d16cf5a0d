import { Logger } from '@nestjs/common';
import { type FSWatcher, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isScriptName } from '../launch/program-files.js';

interface Watched {
  readonly identity: string;
  readonly watcher: FSWatcher;
}

/** Tells a folder from one that was made anew under its name, and may have been given its inode. */
async function folderIdentity(folder: string): Promise<string | undefined> {
  const found = await stat(folder, { bigint: true }).catch(() => undefined);
  return found?.isDirectory() ? `${found.ino} ${found.birthtimeNs}` : undefined;
}

/**
 * Says when something in one of its folders changes. It may miss changes (network mounts, too many watches): a caller
 * that needs to know for certain looks again from time to time.
 */
export class FolderWatcher {
  private readonly watched = new Map<string, Watched>();

  constructor(
    /** @param name of the entry that changed; null where the system does not tell */
    private readonly onChange: (folder: string, name: string | null) => void,
    private readonly onError: (folder: string, error: unknown) => void,
  ) {}

  /** Watches these folders from now on, and no others; a folder that was made anew is watched anew. */
  async watchOnly(folders: readonly string[]): Promise<void> {
    const found = new Map<string, string>();
    for (const folder of folders) {
      const identity = await folderIdentity(folder);
      if (identity !== undefined) found.set(folder, identity);
    }
    for (const [folder, { identity }] of this.watched) if (found.get(folder) !== identity) this.drop(folder);
    for (const [folder, identity] of found) if (!this.watched.has(folder)) this.add(folder, identity);
  }

  close(): void {
    for (const folder of [...this.watched.keys()]) this.drop(folder);
  }

  private add(folder: string, identity: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_kind, name) => this.onChange(folder, name));
      watcher.on('error', (error) => {
        this.drop(folder);
        this.onError(folder, error);
      });
      this.watched.set(folder, { identity, watcher });
    } catch (error) {
      this.onError(folder, error);
    }
  }

  private drop(folder: string): void {
    this.watched.get(folder)?.watcher.close();
    this.watched.delete(folder);
  }
}

/** Watches the folder of installed tools and those of the tools in it for what may change a tool. */
export class InstalledFolders {
  private readonly logger = new Logger(InstalledFolders.name);
  private readonly watcher: FolderWatcher;
  private saidThatItCannot = false;

  constructor(
    private readonly dir: string,
    private readonly onChange: () => void,
  ) {
    this.watcher = new FolderWatcher(
      (folder, name) => this.noticed(folder, name),
      (folder, error) => this.cannotWatch(folder, error),
    );
  }

  /** Watches the folders that there are now. */
  async watch(): Promise<void> {
    const entries = await readdir(this.dir, { withFileTypes: true }).catch(() => []);
    const folders = entries.filter((entry) => !entry.isFile()).map(({ name }) => join(this.dir, name));
    await this.watcher.watchOnly([this.dir, ...folders]);
  }

  close(): void {
    this.watcher.close();
  }

  /** What tools write beside themselves (data, logs) changes no tool. */
  private noticed(folder: string, name: string | null): void {
    if (name === null || name === 'tool.json' || isScriptName(name) || folder === this.dir) this.onChange();
  }

  private cannotWatch(folder: string, error: unknown): void {
    if (!this.saidThatItCannot) {
      this.logger.warn({ err: error }, `${folder} cannot be watched; it is looked at from time to time`);
    }
    this.saidThatItCannot = true;
  }
}
