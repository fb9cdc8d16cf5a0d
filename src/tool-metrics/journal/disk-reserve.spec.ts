import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DiskReserve } from './disk-reserve.js';

describe('DiskReserve', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reserve-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('takes room once, and gives it up', () => {
    const reserve = new DiskReserve(folder);
    expect([reserve.take(), reserve.take()]).toEqual([true, true]);
    // Blocks, not a hole: the room is really taken.
    expect(statSync(join(folder, 'reserve')).blocks * 512).toBeGreaterThanOrEqual(262_144);
    reserve.giveUp();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('says when there is no room', () => {
    expect(new DiskReserve(join(folder, 'missing')).take()).toBe(false);
  });
});
