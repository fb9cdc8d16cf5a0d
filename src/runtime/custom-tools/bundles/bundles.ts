import { Inject, Injectable } from '@nestjs/common';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parse } from 'secure-json-parse';
import { Problem } from '../../../base/common/errors.js';
import { messageOf } from '../../../base/common/message-of.js';
import { readRegularFile, statOf } from '../../../base/common/regular-file.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { wrong } from '../../../web/rest/wrong-field.js';
import type { Unpacked } from './archive.js';
import { BundleFolders } from './bundle-folders.js';
import { BundlesRepository, type StoredBundle } from './bundles.repository.js';

/** The upload of a bundle. */
export interface Upload {
  /** A gzipped tar with a tool.json at its top. */
  readonly body: Readable;
  /** Size announced by the client. */
  readonly bytes: number | undefined;
}

/** Accepts uploads of tools' files, and stores them in the database for all replicas. */
@Injectable()
export class Bundles {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'bundles'>,
    private readonly repository: BundlesRepository,
    private readonly folders: BundleFolders,
  ) {}

  /**
   * Stores an upload.
   * @returns its hash and the text of its tool.json
   * @throws Problem `invalid_request`, `payload_too_large`, `forbidden` if bundles are disabled
   */
  async accept({ body, bytes = 0 }: Upload): Promise<{ readonly hash: string; readonly manifest: string }> {
    const { maxBytes } = this.config.bundles;
    if (maxBytes === 0) throw new Problem('forbidden', 'This server takes no bundles: BUNDLE_MAX_BYTES is 0');
    // Checked before reading, because aborting a body closes the connection before the answer is sent.
    if (bytes > maxBytes) throw tooLarge(`has ${bytes} bytes, more than ${maxBytes}`);
    return this.folders.withWorkFolder(async (work) => {
      const archive = join(work, 'upload.tgz');
      const files = join(work, 'files');
      await pipeline(body, limitTo(maxBytes), createWriteStream(archive)).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === 'ECONNRESET')
          throw wrong('', 'ended before all of it had come');
        throw error;
      });
      const unpacked = await this.unpack(archive, files);
      const manifest = await textOf(files, 'tool.json', maxManifestBytes);
      if (manifest === '') throw wrong('', 'has no tool.json at its top');
      if (!(await this.repository.touch(unpacked.hash))) {
        await refuseMissingPackages(files);
        await this.repository.insert(unpacked, await readFile(archive));
      }
      return { hash: unpacked.hash, manifest };
    });
  }

  /** A stored bundle. @throws Problem `not_found` */
  async get(hash: string): Promise<StoredBundle> {
    const bundle = await this.repository.find(hash);
    if (!bundle) throw new Problem('not_found', `There is no bundle ${hash}`);
    return bundle;
  }

  /** Unpacks an upload. @throws Problem `invalid_request` */
  private unpack(archive: string, folder: string): Promise<Unpacked> {
    return this.folders.unpack(archive, folder).catch((error: unknown) => {
      throw wrong('', `is no bundle: ${messageOf(error)}`);
    });
  }
}

/** Max bytes of a tool.json, because parsing a larger one would delay all other requests. */
const maxManifestBytes = 262_144;

const limitTo = (maxBytes: number) =>
  async function* (body: AsyncIterable<Buffer>) {
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(`has more than ${maxBytes} bytes`);
      yield chunk;
    }
  };

const tooLarge = (what: string): Problem =>
  new Problem('payload_too_large', `The bundle ${what} (BUNDLE_MAX_BYTES)`);

/** Max size of a file that names packages. */
const maxTextBytes = 4_194_304;

/** Package managers: the file that names packages, the folder with them, and a check whether the file names any. */
const ecosystems = [
  {
    file: 'package.json',
    folder: 'node_modules',
    namesPackages: (text: string): boolean => {
      const { dependencies, optionalDependencies } = packageJsonIn(text);
      return Object.keys({ ...dependencies, ...optionalDependencies }).length > 0;
    },
  },
  {
    file: 'requirements.txt',
    folder: 'site-packages',
    namesPackages: (text: string): boolean => /^\s*[^\s#]/m.test(text),
  },
];

/**
 * Refuses a bundle that names packages without containing them, because the server installs none.
 * @throws Problem `invalid_request` that names the file of the bundle
 */
async function refuseMissingPackages(bundle: string): Promise<void> {
  for (const { file, folder, namesPackages } of ecosystems) {
    const text = await textOf(bundle, file);
    const hasPackages = (await statOf(join(bundle, folder))) !== undefined;
    if (text === '' || hasPackages || !namesPackages(text)) continue;
    throw wrong(
      `/${file}`,
      `names packages, and there is no ${folder} beside it: \`toolkeeper tool bundle <folder>\` installs them there`,
    );
  }
}

/** The text of a file; empty if it does not exist. @throws Problem `invalid_request` if it is too large */
async function textOf(bundle: string, file: string, maxBytes = maxTextBytes): Promise<string> {
  try {
    return await readRegularFile(join(bundle, file), maxBytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw wrong(`/${file}`, `cannot be read: ${messageOf(error).replace(bundle, '.')}`);
  }
}

/** The content of a package.json. @throws Problem `invalid_request` if it is not JSON */
function packageJsonIn(text: string): {
  readonly dependencies?: object;
  readonly optionalDependencies?: object;
} {
  try {
    return (parse(text) as object | null) ?? {};
  } catch {
    throw wrong('/package.json', 'is no JSON');
  }
}
