import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTestFolder } from '../../../test/support/test-folder.js';
import { NotRegularFile, openRegularFile, readRegularFile } from './regular-file.js';

// real: files, pipes, folders, devices, links; mock: nothing
describe('a regular file', () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);
  beforeAll(() => (folder = makeTestFolder()));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is read whole, also by a link', async () => {
    writeFileSync(at('file'), 'grüße');
    symlinkSync(at('file'), at('link'));
    await expect(readRegularFile(at('link'), 7)).resolves.toBe('grüße');
  });

  it('is read up to its cap', async () => {
    writeFileSync(at('large'), '');
    truncateSync(at('large'), 314_572_800);
    await expect(readRegularFile(at('large'), 4_096)).rejects.toThrow('has 314572800 bytes, more than 4096');
  });

  it('is no pipe, no folder and no device, and nobody waits for one', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    mkdirSync(at('folder'));
    symlinkSync('/dev/zero', at('device'));
    // More than there are threads.
    const pipes = Array.from({ length: 8 }, () => openRegularFile(at('pipe')));
    const others = [openRegularFile(at('folder')), openRegularFile(at('device'))];
    for (const opened of await Promise.allSettled([...pipes, ...others])) {
      expect(opened).toEqual({ status: 'rejected', reason: expect.any(NotRegularFile) });
    }
  });

  it("that is not there is the system's error", () =>
    expect(openRegularFile(at('none'))).rejects.toMatchObject({ code: 'ENOENT', syscall: 'open' }));
});
