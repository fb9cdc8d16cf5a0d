import { Logger } from '@nestjs/common';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { archiveOf } from '../../../../test/support/bundle.js';
import { makeTestFolder } from '../../../../test/support/test-folder.js';
import { unpack } from './archive.js';
import { BundleFolders } from './bundle-folders.js';
import type { BundlesRepository } from './bundles.repository.js';

// real: files, archives, threads; mock: the database

Logger.overrideLogger(false);

const limits = { maxEntries: 1_000, maxBytes: 1_000_000 };
const paths = Array.from({ length: 300 }, (_, n) => `${n}.txt`);
let dir: string;
beforeEach(() => {
  dir = makeTestFolder();
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A stored bundle of all `paths`. @param onRead runs when its archive is read from the database */
async function bundleFolders(onRead: (folder: string) => void = () => undefined) {
  const archive = archiveOf(paths.map((path) => ({ path, content: path })));
  const file = join(dir, 'upload.tgz');
  writeFileSync(file, archive);
  const { hash, files, bytes } = await unpack(file, join(dir, 'upload'), limits);
  const bundlesDir = join(dir, 'bundles');
  const folder = join(bundlesDir, hash);
  const read = (): Promise<Buffer> => {
    onRead(folder);
    return Promise.resolve(archive);
  };
  const bundles = { dir: bundlesDir, maxEntries: 1_000, maxUnpackedBytes: 1_000_000 } as never;
  const folders = new BundleFolders({ bundles }, { archive: read } as unknown as BundlesRepository);
  return { folders, folder, bundle: { hash, files, bytes, uploadedAt: new Date() } };
}

it('of many files, the first 200 by their paths are shown', async () => {
  const { folders, bundle } = await bundleFolders();
  const { data, complete } = await folders.shownFiles(bundle);
  expect(data.map(({ path }) => path)).toEqual([...paths].sort().slice(0, 200));
  expect(complete).toBe(false);
});

it('changed files are replaced, also if another server moves them away meanwhile', async () => {
  const { folders, folder, bundle } = await bundleFolders((at) => renameSync(at, join(dir, 'moved')));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '0.txt'), 'changed');
  chmodSync(join(folder, '0.txt'), 0o444);
  expect(await folders.folderOf(bundle.hash)).toBe(folder);
  expect(readFileSync(join(folder, '0.txt'), 'utf8')).toBe('0.txt');
});
