import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile, open } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isUtf8 } from 'node:buffer';
import { IntervalLoop } from '../../../base/common/interval-loop.js';
import type { Problem } from '../../../base/common/errors.js';
import { messageOf } from '../../../base/common/message-of.js';
import { statOf } from '../../../base/common/regular-file.js';
import { SingleFlight } from '../../../base/common/single-flight.js';
import { WorkerCalls } from '../../../base/common/worker-calls.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import type { Unpacked, UnpackLimits } from './archive.js';
import type { ArchiveOrder } from './archive.worker.js';
import { BundlesRepository, type StoredBundle } from './bundles.repository.js';

const sweepEveryMs = 3_600_000;
/** Age at which a work folder counts as left by a killed server. */
const abandonedMs = 3_600_000;
/** Max time for unpacking or hashing a bundle. */
const timeoutMs = 120_000;
const workPrefix = '.work-';
/** For stored bundles, which were within the limits at their upload. */
const unlimited: UnpackLimits = { maxEntries: Infinity, maxBytes: Infinity };

/**
 * The files of bundles on this machine, in `<CUSTOM_TOOLS_DIR>/.bundles/<hash>`. A bundle is unpacked from the database
 * when it is first needed. Such a folder is complete and never changes; if somebody changed it, it is unpacked again.
 */
@Injectable()
export class BundleFolders implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(BundleFolders.name);
  private readonly fetching = new SingleFlight<string>();
  private readonly sweeps: IntervalLoop;

  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'bundles'>,
    private readonly repository: BundlesRepository,
  ) {
    this.sweeps = new IntervalLoop(
      () => this.sweep(),
      sweepEveryMs,
      (error) => this.logger.warn(error, 'Bundles that no tool needs were not removed'),
    );
  }

  onApplicationBootstrap(): void {
    this.sweeps.start(0);
  }

  onApplicationShutdown(): Promise<void> {
    return this.sweeps.stop();
  }

  /**
   * The folder of a bundle, which is unpacked there if needed.
   * @param verify whether to compare the files of an existing folder with the hash, as before a start
   * @throws Problem `invalid_request` if the bundle is not in the database or cannot be unpacked here
   */
  async folderOf(hash: string, { verify = true } = {}): Promise<string> {
    const folder = join(this.config.bundles.dir, hash);
    if (!verify && (await isFolder(folder))) return folder;
    return this.fetching.join(hash, () => this.fetch(hash));
  }

  /**
   * Runs work with a temporary folder, which is removed afterwards.
   * @throws Problem `invalid_request` if no folder can be made
   */
  async withWorkFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const { dir } = this.config.bundles;
    const folder = await mkdir(dir, { recursive: true, mode: 0o755 })
      .then(() => mkdtemp(join(dir, workPrefix)))
      .catch((error: unknown) => {
        throw cannotUnpack(`${messageOf(error)}; let the server write below CUSTOM_TOOLS_DIR`);
      });
    try {
      return await work(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Unpacks an archive. @param limits default: those for uploads @throws Error with a one-line reason */
  unpack(archive: string, folder: string, limits?: UnpackLimits): Promise<Unpacked> {
    const { maxEntries, maxUnpackedBytes: maxBytes } = this.config.bundles;
    return inThread<Unpacked>({ archive, folder, limits: limits ?? { maxEntries, maxBytes } });
  }

  /** The files of a bundle for people. @throws Problem `invalid_request` as `folderOf` does */
  async shownFiles({ hash, files }: StoredBundle): Promise<ShownFiles> {
    return shownFilesIn(await this.folderOf(hash, { verify: false }), files);
  }

  /** Removes unused folders, then unused rows. Folders of these rows go an hour later, because they may still be in use. */
  async sweep(): Promise<void> {
    const { dir } = this.config.bundles;
    // Folders are listed before rows, because each row precedes its folder.
    const names = await readdir(dir).catch(() => []);
    const hashes = await this.repository.hashes();
    for (const name of names) {
      const path = join(dir, name);
      const isUnused = name.startsWith(workPrefix) ? await isAbandoned(path) : !hashes.has(name);
      if (isUnused) await rm(path, { recursive: true, force: true });
    }
    await this.repository.removeUnused();
  }

  /** Hashes the folder of a bundle; unpacks the bundle if the folder is missing or was changed. */
  private async fetch(hash: string): Promise<string> {
    const folder = join(this.config.bundles.dir, hash);
    const presentHash = (await isFolder(folder)) ? await inThread<string>({ folder }) : undefined;
    if (presentHash === hash) return folder;
    const archive = await this.repository.archive(hash);
    if (!archive) throw wrong('/bundle', `is not in the database any more (${hash}): upload it again`);
    // Other servers with the same directory may do the same meanwhile.
    await this.withWorkFolder(async (work) => {
      const file = join(work, 'bundle.tgz');
      const files = join(work, 'files');
      await writeFile(file, archive);
      const unpacked = await this.unpack(file, files, unlimited).catch((error: unknown) => {
        throw cannotUnpack(messageOf(error));
      });
      // Earlier versions of Toolkeeper stored bundles with their packages, under the hash of the upload. The files are
      // right if they are those of the stored archive.
      if (presentHash === unpacked.hash) return;
      if (presentHash !== undefined) {
        this.logger.error(
          `The files in ${folder} are not those of the bundle: they were changed, and are unpacked again`,
        );
        await rename(folder, join(work, 'changed')).catch(ignoreMissing);
      }
      await rename(files, folder).catch(async (error: unknown) => {
        if (!(await isFolder(folder))) throw error;
      });
    });
    return folder;
  }
}

const cannotUnpack = (why: string): Problem => wrong('/bundle', `cannot be unpacked here: ${why}`);

/**
 * Unpacks an archive or hashes a folder in a thread of its own, because both block it.
 * @returns a hash if the order has no archive
 */
async function inThread<Answer extends Unpacked | string>(order: ArchiveOrder): Promise<Answer> {
  const thread = new WorkerCalls<ArchiveOrder, Answer>(new URL('./archive.worker.js', import.meta.url), {
    name: 'bundle',
    timeLimitMs: timeoutMs,
  });
  try {
    return await thread.call(order);
  } finally {
    await thread.stop();
  }
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

const isFolder = async (path: string): Promise<boolean> => (await statOf(path))?.isDirectory() === true;

const isAbandoned = async (path: string): Promise<boolean> =>
  Date.now() - ((await statOf(path))?.mtimeMs ?? Infinity) > abandonedMs;

/** Max files that the content of a bundle shows. */
const maxFiles = 200;
/** Max bytes of all shown contents together. */
const maxTextBytes = 1_048_576;
const executableBits = 0o111;

/** The files of a bundle, sorted by path. */
interface ShownFiles {
  /** At most `maxFiles`. `content` is null if it is binary or too large. */
  readonly data: { path: string; content: string | null; executable: boolean }[];
  /** Whether all files are there with their content. */
  readonly complete: boolean;
}

/** Reads the files of an unpacked bundle. @param fileCount the number of its files */
async function shownFilesIn(folder: string, fileCount: number): Promise<ShownFiles> {
  // Sorted before the cut, because each replica lists a directory in another order.
  const shown = (await pathsBelow(folder)).sort().slice(0, maxFiles);
  const data: ShownFiles['data'] = [];
  let bytesLeft = maxTextBytes;
  for (const path of shown) {
    const { size, ...file } = await readBundled(join(folder, path), bytesLeft);
    if (file.content !== null) bytesLeft -= size;
    data.push({ path, ...file });
  }
  return { data, complete: data.length === fileCount && data.every(({ content }) => content !== null) };
}

/** The paths of all files below a folder, relative to it. */
async function pathsBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
}

/** Reads a file; `content` is null if it is no text or larger than `maxSize`. */
async function readBundled(path: string, maxSize: number) {
  const file = await open(path);
  try {
    const { size, mode } = await file.stat();
    const bytes = size > maxSize ? undefined : await file.readFile();
    const isText = bytes !== undefined && isUtf8(bytes) && !bytes.includes(0);
    return { size, executable: (mode & executableBits) !== 0, content: isText ? bytes.toString() : null };
  } finally {
    await file.close();
  }
}
