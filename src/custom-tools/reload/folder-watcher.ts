import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';

interface Watched {
  readonly inode: number;
  readonly watcher: FSWatcher;
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
    const inodes = new Map<string, number>();
    for (const folder of folders) {
      const found = await stat(folder).catch(() => undefined);
      if (found?.isDirectory()) inodes.set(folder, found.ino);
    }
    for (const [folder, { inode }] of this.watched) if (inodes.get(folder) !== inode) this.drop(folder);
    for (const [folder, inode] of inodes) if (!this.watched.has(folder)) this.add(folder, inode);
  }

  close(): void {
    for (const folder of [...this.watched.keys()]) this.drop(folder);
  }

  private add(folder: string, inode: number): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_kind, name) => this.onChange(folder, name));
      watcher.on('error', (error) => {
        this.drop(folder);
        this.onError(folder, error);
      });
      this.watched.set(folder, { inode, watcher });
    } catch (error) {
      this.onError(folder, error);
    }
  }

  private drop(folder: string): void {
    this.watched.get(folder)?.watcher.close();
    this.watched.delete(folder);
  }
}
