import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { sha256 } from './canonical-json.js';
import { identityOf, lives } from './process-identity.js';

/**
 * A lock between processes that is a file naming its owner. The file appears with its content in one step (a hard
 * link), so it is never seen empty; a lock whose owner died is taken over by exactly one of those who wait.
 */
export class FileLock {
  private constructor(private readonly path: string) {}

  /**
   * Waits until the lock is ours.
   * @throws Error naming the owner when that takes longer than `timeoutMs`
   */
  static async acquire(path: string, timeoutMs = 60_000): Promise<FileLock> {
    const end = Date.now() + timeoutMs;
    while (!tryTake(path)) {
      if (Date.now() > end) throw new Error(`${path} is held by process ${read(path) ?? '(just gone)'}`);
      await delay(20);
    }
    return new FileLock(path);
  }

  release(): void {
    rmSync(this.path, { force: true });
  }
}

function tryTake(path: string): boolean {
  const nonce = randomUUID();
  const mine = `${path}.${nonce}`;
  writeFileSync(mine, `${identityOf(process.pid) ?? process.pid} ${nonce}`, { mode: 0o600 });
  try {
    return tryLink(mine, path) || trySteal(mine, path);
  } finally {
    rmSync(mine, { force: true });
  }
}

function tryLink(mine: string, path: string): boolean {
  try {
    linkSync(mine, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * The right to take over this very lock is a lock as well. Who holds it looks again: another may have taken the dead
 * owner's place and gone, and its successor is alive.
 */
function trySteal(mine: string, path: string): boolean {
  const owner = read(path);
  if (owner === undefined || lives(owner.split(' ')[0] ?? '')) return false;
  const right = `${path}.${sha256(owner).slice(0, 16)}`;
  if (!tryTake(right)) return false;
  try {
    if (read(path) !== owner) return false;
    renameSync(mine, path);
    return true;
  } finally {
    rmSync(right, { force: true });
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
