import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';

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
 * Says when something in one of its folders changes. It may miss changes (network mounts, too many watches): who needs
 * to know for certain looks again from time to time.
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
