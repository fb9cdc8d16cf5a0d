import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.js';
import { identityOf, lives } from '../../src/common/process-identity.js';

const prefix = 'toolkeeper-test-';

/**
 * A new folder, of mode 0700, whose name tells which process made it. An embedded server of a test belongs into its
 * subfolder `postgres` (so does that of an application whose data directory it is): see below.
 */
export const makeTestFolder = (): string =>
  mkdtempSync(join(tmpdir(), `${prefix}${identityOf(process.pid)}-`));

/** A run that was killed could not clean up: the next one ends its servers and removes its folders. */
export async function removeDeadTestFolders(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const maker = new RegExp(`^${prefix}(\\d+-\\d+)-`).exec(name)?.[1];
    if (maker === undefined || lives(maker)) continue;
    const folder = join(tmpdir(), name);
    await new EmbeddedPostgres({ directory: join(folder, 'postgres') }).stopForAll();
    rmSync(folder, { recursive: true, force: true });
  }
}
