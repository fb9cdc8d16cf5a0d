import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { sha256 } from './canonical-json.js';
import { identityOf, identityScope, lives } from './process-identity.js';

/** Somebody who lives has the lock. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
}

const lookEveryMs = 20;
/** How often an owner shows that it lives to those who cannot see its process. */
const signOfLifeMs = 500;
/** Without a sign for so long it is taken for dead. */
export const silenceMs = 4_000;

/**
 * A lock between processes that is a file naming its owner. The file appears with its content in one step (a hard
 * link), so it is never seen empty; a lock whose owner died is taken over by exactly one of those who wait. An owner in
 * another container is not seen among the processes: it touches the file as long as it lives.
 */
export class FileLock {
  private readonly signs: NodeJS.Timeout;

  private constructor(
    private readonly path: string,
    private readonly mine: string,
  ) {
    this.signs = setInterval(() => this.giveSign(), signOfLifeMs).unref();
  }

  /**
   * Waits until the lock is ours.
   * @param timeoutMs where it is shorter than `silenceMs`, what a container left that is gone is never taken over
   * @throws LockHeld naming the owner when that takes longer; what the disk says when it cannot be written
   */
  static async acquire(path: string, timeoutMs = 60_000, silentForMs = silenceMs): Promise<FileLock> {
    const end = Date.now() + timeoutMs;
    const watch = new OwnerWatch(path, silentForMs);
    for (;;) {
      const mine = tryTake(path, watch);
      if (mine !== undefined) return new FileLock(path, mine);
      if (Date.now() > end) throw new LockHeld(`${path} is held by process ${read(path) ?? '(just gone)'}`);
      await delay(lookEveryMs);
    }
  }

  /** Somebody may have taken this process for dead: the lock is theirs then. */
  release(): void {
    clearInterval(this.signs);
    if (read(this.path) === this.mine) rmSync(this.path, { force: true });
  }

  private giveSign(): void {
    try {
      const now = new Date();
      if (read(this.path) === this.mine) utimesSync(this.path, now, now);
    } catch {
      // The disk fails: whoever needs the lock's folder will say so.
    }
  }
}

/** Tells whether a lock's owner lives, as it looks again and again. */
export class OwnerWatch {
  private seen = '';
  private since = 0;
  private right: OwnerWatch | undefined;

  constructor(
    private readonly path: string,
    private readonly silentForMs: number,
    private readonly now = (): number => performance.now(),
  ) {}

  isDead(owner: string): boolean {
    const [identity = '', , scope = identityScope] = owner.split(' ');
    return scope === identityScope ? !lives(identity) : this.isSilent(owner);
  }

  /** The same for the right to take this lock over. */
  ofRight(path: string): OwnerWatch {
    if (this.right?.path !== path) this.right = new OwnerWatch(path, this.silentForMs, this.now);
    return this.right;
  }

  /** By our own clock alone: those of other machines may differ. */
  private isSilent(owner: string): boolean {
    const state = `${owner} ${statSync(this.path, { throwIfNoEntry: false })?.mtimeMs}`;
    if (state !== this.seen) {
      this.seen = state;
      this.since = this.now();
    }
    return this.now() - this.since >= this.silentForMs;
  }
}

/** @returns what stands in the file that is ours now */
function tryTake(path: string, watch: OwnerWatch): string | undefined {
  const nonce = randomUUID();
  const file = `${path}.${nonce}`;
  const mine = `${identityOf(process.pid) ?? process.pid} ${nonce} ${identityScope}`;
  writeFileSync(file, mine, { mode: 0o600 });
  try {
    return tryLink(file, path) || trySteal(file, path, watch) ? mine : undefined;
  } finally {
    rmSync(file, { force: true });
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
function trySteal(mine: string, path: string, watch: OwnerWatch): boolean {
  const owner = read(path);
  if (owner === undefined || !watch.isDead(owner)) return false;
  const right = `${path}.${sha256(owner).slice(0, 16)}`;
  if (tryTake(right, watch.ofRight(right)) === undefined) return false;
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
