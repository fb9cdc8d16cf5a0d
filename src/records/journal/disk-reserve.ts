import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const reserveBytes = 262_144;

/**
 * Room on the journal's disk that is taken beforehand and given up when the disk is full: the ends of some thousand
 * executions fit into it, and as long as they cannot be written no segment can be removed to make room.
 */
export class DiskReserve {
  private readonly path: string;

  constructor(folder: string) {
    this.path = join(folder, 'reserve');
  }

  /** @returns whether the room is ours */
  take(): boolean {
    try {
      const taken = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
      if (taken < reserveBytes) writeFileSync(this.path, Buffer.alloc(reserveBytes), { mode: 0o600 });
      return true;
    } catch {
      this.giveUp();
      return false;
    }
  }

  giveUp(): void {
    rmSync(this.path, { force: true });
  }
}
