import { Inject, Injectable, Logger } from '@nestjs/common';
import { type FSWatcher, watch } from 'node:fs';
import { glob, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256 } from '../../../base/common/canonical-json.js';
import { Problem } from '../../../base/common/errors.js';
import { messageOf } from '../../../base/common/message-of.js';
import { readRegularFile, statOf } from '../../../base/common/regular-file.js';
import { DtoPipe } from '../../../web/rest/dto.pipe.js';
import { APP_CONFIG, type AppConfig } from '../../../base/config/app-config.js';
import { type CustomTool } from '../entity/custom-tool.entity.js';
import { CustomToolCreate } from '../entity/tool-settings.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { manifestIn } from './tool-planner.js';
import { CustomToolsRepository } from '../state/custom-tools.repository.js';
import { couldNotTry } from '../launch/tool-inspector.js';
import { isScriptName, portablePath } from '../launch/program-files.js';

/** A tool.json as it was when it was last looked into. */
interface Seen {
  readonly file: string;
  /** It was not imported: another try is worth it when anything beside it changes. */
  readonly folder?: string;
}

/** Stands for the content's hash until an import has come to its end. */
const begun = 'begun';
const imported = { source: 'import', by: 'toolkeeper' } as const;
const maxEntries = 1_000;
const maxFileBytes = 4_194_304;

/** Brings `<dir>/<folder>/tool.json` into the database when its content is new; the row is the truth afterwards. */
@Injectable()
export class InstalledToolsImporter {
  private readonly logger = new Logger(InstalledToolsImporter.name);
  private readonly dtos = new DtoPipe();
  private readonly seen = new Map<string, Seen>();

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly manager: CustomToolManager,
  ) {}

  /**
   * Imports what is new or changed since it was last looked at. One bad file is logged with its reason and never keeps
   * the others out: what it said before stays in force.
   */
  async importAll(): Promise<void> {
    const { dir } = this.config.customTools;
    const files: string[] = [];
    for await (const file of glob('*/tool.json', { cwd: dir })) files.push(join(dir, file));
    for (const file of files.sort()) if (await this.isNew(file)) await this.look(file);
    for (const file of this.seen.keys()) if (!files.includes(file)) this.gone(file);
  }

  private async isNew(path: string): Promise<boolean> {
    const seen = this.seen.get(path);
    if (!seen || seen.file !== (await stateOf(path))) return true;
    return seen.folder !== undefined && seen.folder !== (await folderState(dirname(path)));
  }

  private async look(path: string): Promise<void> {
    // Taken before the content is read: what is written meanwhile is another state.
    const [file, folder] = [await stateOf(path), await folderState(dirname(path))];
    try {
      await this.importFile(path);
      this.seen.set(path, { file });
    } catch (error) {
      if (couldNotTry(error)) this.seen.delete(path);
      else this.seen.set(path, { file, folder });
      const name = portablePath(this.config.root, path);
      const about = error instanceof Problem ? { reason: error.message } : { err: error };
      this.logger.error({ file: name, ...about }, `${name} was not imported: ${messageOf(error)}`);
    }
  }

  private gone(path: string): void {
    this.seen.delete(path);
    this.logger.warn(`${portablePath(this.config.root, path)} is gone; its tool stays until it is removed`);
  }

  private async importFile(path: string): Promise<void> {
    const content = await readRegularFile(path, maxFileBytes);
    const hash = sha256(content);
    const key = portablePath(this.config.root, path);
    const importedHash = await this.repository.importedHash(key);
    if (importedHash === hash) return;
    const create = await this.parse(content, dirname(path));
    const known = await this.repository.find(create.name);
    if (known && importedHash === undefined) {
      throw new Problem('conflict', `the tool name ${create.name} was registered by somebody else`);
    }
    await (known ? this.manager.store({ create, replaces: true }, imported) : this.importFirst(create, key));
    await this.repository.rememberImport(key, hash);
    this.logger.log(`${key} was imported as ${create.name}`);
  }

  /** Recorded before the import: if the server is killed in between, the tool would look like somebody else's. */
  private async importFirst(create: CustomToolCreate, key: string): Promise<void> {
    await this.repository.rememberImport(key, begun);
    try {
      await this.register(create);
    } catch (error) {
      await this.repository.forgetImport(key, begun);
      throw error;
    }
  }

  /** A missing interpreter results in status `error` at once. */
  private async register(create: CustomToolCreate): Promise<CustomTool> {
    try {
      return await this.manager.store({ create }, imported);
    } catch (error) {
      const storable = create.description !== undefined && create.inputSchema !== undefined;
      if (!(error instanceof Problem) || error.code !== 'invalid_request' || !storable) throw error;
      return this.manager.store({ create, broken: error.detail }, imported);
    }
  }

  private parse(content: string, folder: string): Promise<CustomToolCreate> {
    const body = { workingDir: portablePath(this.config.root, folder), ...manifestIn(content) };
    return this.dtos.read(CustomToolCreate, body);
  }
}

/** Another text whenever the file's content may have changed. */
async function stateOf(path: string): Promise<string> {
  const found = await statOf(path);
  return found ? [found.ino, found.size, found.mtimeMs, found.ctimeMs].join(' ') : 'gone';
}

async function folderState(folder: string): Promise<string> {
  const names = (await readdir(folder).catch(() => [])).sort().slice(0, maxEntries);
  const states = await Promise.all(
    names.map(async (name) => [name, await stateOf(join(folder, name))].join(' ')),
  );
  return states.join('\n');
}

/**
 * Watches the folder of installed tools and those of the tools in it for what may change a tool. It may miss changes
 * (network mounts, too many watches): a caller that needs to know for certain looks again from time to time.
 */
export class InstalledFolders {
  private readonly logger = new Logger(InstalledFolders.name);
  private readonly watched = new Map<string, { readonly identity: string; readonly watcher: FSWatcher }>();
  private isLogged = false;

  constructor(
    private readonly dir: string,
    private readonly onChange: () => void,
  ) {}

  /** Watches the folders that there are now; a folder that was made again is watched again. */
  async watch(): Promise<void> {
    const entries = await readdir(this.dir, { withFileTypes: true }).catch(() => []);
    const folders = entries.filter((entry) => !entry.isFile()).map(({ name }) => join(this.dir, name));
    const found = new Map<string, string>();
    for (const folder of [this.dir, ...folders]) {
      const identity = await folderIdentity(folder);
      if (identity !== undefined) found.set(folder, identity);
    }
    for (const [folder, { identity }] of this.watched) if (found.get(folder) !== identity) this.drop(folder);
    for (const [folder, identity] of found) if (!this.watched.has(folder)) this.add(folder, identity);
  }

  close(): void {
    for (const folder of [...this.watched.keys()]) this.drop(folder);
  }

  private add(folder: string, identity: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_kind, name) => this.changed(folder, name));
      watcher.on('error', (error) => this.cannotWatch(folder, error));
      this.watched.set(folder, { identity, watcher });
    } catch (error) {
      this.cannotWatch(folder, error);
    }
  }

  /** Ignores data and logs that tools write beside their files. @param name null if the system does not report it */
  private changed(folder: string, name: string | null): void {
    if (name === null || name === 'tool.json' || isScriptName(name) || folder === this.dir) this.onChange();
  }

  private cannotWatch(folder: string, error: unknown): void {
    this.drop(folder);
    if (this.isLogged) return;
    this.isLogged = true;
    this.logger.warn({ err: error }, `${folder} cannot be watched; it is looked at from time to time`);
  }

  private drop(folder: string): void {
    this.watched.get(folder)?.watcher.close();
    this.watched.delete(folder);
  }
}

/** Tells a folder from one that was made again under its name, and may have been given its inode. */
async function folderIdentity(folder: string): Promise<string | undefined> {
  const found = await stat(folder, { bigint: true }).catch(() => undefined);
  return found?.isDirectory() ? `${found.ino} ${found.birthtimeNs}` : undefined;
}
