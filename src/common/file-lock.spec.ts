import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileLock, OwnerWatch } from './file-lock.js';
import { until } from '../../test/support/wait.js';
import { identityOf } from './process-identity.js';

describe('FileLock', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'file-lock-'));
    path = join(folder, 'lock');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('names its owner and leaves nothing behind', async () => {
    const lock = await FileLock.acquire(path);
    expect(readFileSync(path, 'utf8')).toContain(identityOf(process.pid));
    lock.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  /** Many want the lock at once; each has it in turn, and nothing is left behind. */
  async function oneAtATime(visitors: number, acquire: () => Promise<FileLock>): Promise<void> {
    let inside = 0;
    const visit = async (): Promise<void> => {
      const lock = await acquire();
      expect((inside += 1)).toBe(1);
      await new Promise(setImmediate);
      inside -= 1;
      lock.release();
    };
    await Promise.all(Array.from({ length: visitors }, visit));
    expect(readdirSync(folder)).toEqual([]);
  }

  it('lets one in at a time', () => oneAtATime(10, () => FileLock.acquire(path)));

  it('says who holds it when that lasts too long', async () => {
    const lock = await FileLock.acquire(path);
    await expect(FileLock.acquire(path, 30)).rejects.toThrow(`held by process ${process.pid}-`);
    lock.release();
  });

  it('is taken over from an owner that died, by one of many', async () => {
    writeFileSync(path, `${await deadIdentity()} some-nonce`);
    await oneAtATime(10, () => FileLock.acquire(path));
  });

  it('is taken over when its owner and then the one that was taking over died', async () => {
    const dead = await deadIdentity();
    writeFileSync(path, `${dead} first`);
    const lock = await FileLock.acquire(path);
    lock.release();
    // The same name is derived from the same dead owner: its right of take-over is stale as well.
    writeFileSync(path, `${dead} first`);
    const { sha256 } = await import('./canonical-json.js');
    writeFileSync(`${path}.${sha256(`${dead} first`).slice(0, 16)}`, `${dead} second`);
    (await FileLock.acquire(path, 1_000)).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('takes a torn file for a dead owner’s', async () => {
    writeFileSync(path, '');
    (await FileLock.acquire(path, 1_000)).release();
  });

  describe('of another container', () => {
    /** Our own process is no owner there, whatever its number. */
    const stranger = `${identityOf(process.pid)} nonce some-boot/pid:[1]`;

    it('is taken over after a silence, by one of many', async () => {
      writeFileSync(path, stranger);
      await oneAtATime(5, () => FileLock.acquire(path, 60_000, 50));
    });

    it('is held as long as its owner gives signs of life', () => {
      writeFileSync(path, stranger);
      let now = 0;
      const watch = new OwnerWatch(path, 10_000, () => now);
      for (let sign = 1; sign <= 5; sign++) {
        utimesSync(path, sign, sign);
        expect(watch.isDead(stranger)).toBe(false);
        now += 9_999;
        expect(watch.isDead(stranger)).toBe(false);
      }
      now += 1;
      expect(watch.isDead(stranger)).toBe(true);
    });

    it('is not taken away from whoever took it over from us', async () => {
      const lock = await FileLock.acquire(path);
      writeFileSync(path, stranger);
      lock.release();
      expect(readFileSync(path, 'utf8')).toBe(stranger);
    });
  });

  it('gives signs of life', async () => {
    const lock = await FileLock.acquire(path);
    utimesSync(path, 1, 1);
    await until(() => statSync(path).mtimeMs > 1_000_000, { what: 'a sign of life' });
    lock.release();
  });

  it('passes other failures on', async () => {
    await expect(FileLock.acquire(join(folder, 'missing', 'lock'))).rejects.toThrow('ENOENT');
  });
});

async function deadIdentity(): Promise<string> {
  const child = spawn('true');
  const identity = identityOf(child.pid ?? 0) ?? `${child.pid}-1`;
  await once(child, 'exit');
  return identity;
}
