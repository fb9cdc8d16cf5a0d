import { Inject, Injectable } from '@nestjs/common';
import { createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../common/errors.js';
import { messageOf } from '../../common/message-of.js';
import { sanitisedText } from '../../common/pg-text.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { wrong } from '../../rest/wrong-field.js';
import type { Unpacked } from './archive.js';
import { BundleFolders } from './bundle-folders.js';
import { BundlesRepository, type BundleView } from './bundles.repository.js';
import { PackageInstaller, textOf } from './package-installer.js';

/** A stored bundle and the content of its tool.json. */
export interface TakenBundle {
  readonly hash: string;
  /** The text of its tool.json. */
  readonly manifest: string;
}

export interface Upload {
  /** A gzipped tar with a tool.json at its top. */
  readonly body: Readable;
  /** Size announced by the client. */
  readonly bytes: number | undefined;
}

/** Takes the files of tools, and keeps them where every replica finds them. */
@Injectable()
export class Bundles {
  constructor(
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'bundles'>,
    private readonly repository: BundlesRepository,
    private readonly folders: BundleFolders,
    private readonly installer: PackageInstaller,
  ) {}

  /**
   * @throws Problem `invalid_request` that says what is wrong with it, `payload_too_large`, `forbidden` if none is taken
   */
  async take({ body, bytes = 0 }: Upload): Promise<TakenBundle> {
    const { maxBytes } = this.config.bundles;
    if (maxBytes === 0) throw new Problem('forbidden', 'This server takes no bundles: BUNDLE_MAX_BYTES is 0');
    // Checked before reading, because aborting a body closes the connection before the answer is sent.
    if (bytes > maxBytes) throw tooLarge(`has ${bytes} bytes, more than ${maxBytes}`);
    return this.folders.within(async (work) => {
      const [archive, files] = [join(work, 'upload.tgz'), join(work, 'files')];
      await pipeline(body, capped(maxBytes), createWriteStream(archive)).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === 'ECONNRESET')
          throw wrong('', 'ended before all of it had come');
        throw error;
      });
      const unpacked = await this.check(archive, files);
      const manifest = await textOf(files, 'tool.json', maxManifestBytes);
      if (manifest === '') throw wrong('', 'has no tool.json at its top');
      // The same files again: their packages are those that their lock names.
      if (!(await this.repository.touch(unpacked.hash))) await this.store(unpacked, files, work);
      return { hash: unpacked.hash, manifest };
    });
  }

  /** @throws Problem `not_found` */
  async get(hash: string): Promise<BundleView> {
    const found = await this.repository.find(hash);
    if (!found) throw new Problem('not_found', `There is no bundle ${hash}`);
    return found;
  }

  /** @throws Problem `invalid_request` */
  private check(archive: string, folder: string): Promise<Unpacked> {
    return this.folders.unpack(archive, folder).catch((error: unknown) => {
      throw wrong('', `is no bundle: ${messageOf(error)}`);
    });
  }

  private async store(bundle: Unpacked, files: string, work: string): Promise<void> {
    const installLog = await this.installer.install(files);
    const archive = join(work, 'bundle.tgz');
    await this.folders.pack(files, archive);
    const { size } = await stat(archive);
    const { maxBytes } = this.config.bundles;
    if (size > maxBytes) throw tooLarge(`has ${size} bytes with its packages, more than ${maxBytes}`);
    if (installLog !== null) await this.check(archive, join(work, 'checked'));
    const log = installLog === null ? null : sanitisedText(installLog);
    await this.repository.insert({ ...bundle, installLog: log }, await readFile(archive));
  }
}

/** Parsing a larger one would delay all other requests. */
const maxManifestBytes = 262_144;

/** Limits a stream to a number of bytes. */
const capped = (maxBytes: number) =>
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
