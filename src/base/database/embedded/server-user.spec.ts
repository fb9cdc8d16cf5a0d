import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverUserFor } from './server-process.js';

describe('serverUserFor', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'server-user-'))));
  afterEach(() => rmSync(folder, { recursive: true }));
  const missing = () => join(folder, 'data');
  const passwd = (lines: string) => {
    writeFileSync(join(folder, 'passwd'), lines);
    return join(folder, 'passwd');
  };
  const root = 'root:x:0:0:root:/root:/bin/bash\n';
  const nobody = 'nobody:x:65534:65533::/:/bin/false\n';

  it('stays ourselves where we are not root', () => expect(serverUserFor(missing(), 1000)).toEqual({}));

  it('drops root to postgres', () =>
    expect(serverUserFor(missing(), 0, passwd(`${root}${nobody}postgres:x:101:104::/:/bin/sh\n`))).toEqual({
      uid: 101,
      gid: 104,
    }));

  it('drops root to nobody where there is no postgres', () =>
    expect(serverUserFor(missing(), 0, passwd(`${root}${nobody}`))).toEqual({ uid: 65534, gid: 65533 }));

  it('names the way out where there is neither', () =>
    expect(() => serverUserFor(missing(), 0, passwd(root))).toThrow(/neither a user .* Set DATABASE_URL/));

  it('keeps to the owner of the data that are there', () => {
    const uid = process.getuid?.();
    // A folder of root's own is no owner to drop to; /proc/self of a server would be.
    const expected = uid === 0 ? { uid: 65534, gid: 65533 } : { uid, gid: process.getgid?.() };
    expect(serverUserFor(folder, 0, passwd(nobody))).toEqual(expected);
  });
});
