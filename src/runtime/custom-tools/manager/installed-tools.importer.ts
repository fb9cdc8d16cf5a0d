import { Inject, Injectable, Logger } from '@nestjs/common';
import { glob, readdir } from 'node:fs/promises';
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
import { portablePath } from '../launch/program-files.js';

/** The state of a tool.json at its last import. */
interface SeenFile {
  readonly file: string;
  /** State of its folder if the import failed: it is tried again when anything in the folder changes. */
  readonly folder?: string;
}

/** Stored in place of the content's hash while an import runs. */
const runningImport = 'begun';
const importOrigin = { source: 'import', by: 'toolkeeper' } as const;
/** Max entries of a folder whose changes are noticed. */
const maxEntries = 1_000;
const maxFileBytes = 4_194_304;

/** Imports new content of `<dir>/<folder>/tool.json` into the database. Afterwards the row is authoritative. */
@Injectable()
export class InstalledToolsImporter {
  private readonly logger = new Logger(InstalledToolsImporter.name);
  private readonly dtos = new DtoPipe();
  /** The tool.json files that were imported or failed, by path. */
  private readonly seen = new Map<string, SeenFile>();

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly repository: CustomToolsRepository,
    private readonly manager: CustomToolManager,
  ) {}

  /**
   * Imports all files that are new or changed. A bad file is logged with the reason and does not affect the others; its
   * tool stays as it was.
   */
  async importAll(): Promise<void> {
    const { dir } = this.config.customTools;
    const files: string[] = [];
    for await (const file of glob('*/tool.json', { cwd: dir })) files.push(join(dir, file));
    for (const file of files.sort()) if (await this.isNew(file)) await this.tryImport(file);
    for (const file of this.seen.keys()) if (!files.includes(file)) this.forget(file);
  }

  /** Whether a file must be imported: it is new or changed, or its import failed and the folder has changed. */
  private async isNew(path: string): Promise<boolean> {
    const seen = this.seen.get(path);
    if (!seen || seen.file !== (await fileState(path))) return true;
    return seen.folder !== undefined && seen.folder !== (await folderState(dirname(path)));
  }

  private async tryImport(path: string): Promise<void> {
    // Read before the content, so that a write in between counts as a change.
    const file = await fileState(path);
    const folder = await folderState(dirname(path));
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

  private forget(path: string): void {
    this.seen.delete(path);
    this.logger.warn(`${portablePath(this.config.root, path)} is gone; its tool stays until it is removed`);
  }

  /** Registers or replaces the tool of a file, unless its content was imported already. */
  private async importFile(path: string): Promise<void> {
    const content = await readRegularFile(path, maxFileBytes);
    const hash = sha256(content);
    const key = portablePath(this.config.root, path);
    const importedHash = await this.repository.importedHash(key);
    if (importedHash === hash) return;
    const create = await this.parse(content, dirname(path));
    const known = await this.repository.find(create.name);
    if (known && importedHash === undefined)
      throw new Problem('conflict', `the tool name ${create.name} was registered by somebody else`);
    await (known
      ? this.manager.store({ create, replaces: true }, importOrigin)
      : this.importFirst(create, key));
    await this.repository.rememberImport(key, hash);
    this.logger.log(`${key} was imported as ${create.name}`);
  }

  /**
   * Registers a new tool. The import is recorded first: after a crash in between, the tool would look like one that
   * somebody else registered.
   */
  private async importFirst(create: CustomToolCreate, key: string): Promise<void> {
    await this.repository.rememberImport(key, runningImport);
    try {
      await this.register(create);
    } catch (error) {
      await this.repository.forgetImport(key, runningImport);
      throw error;
    }
  }

  /** Registers a tool. If its executable cannot start, such as without its interpreter, it gets status `error`. */
  private async register(create: CustomToolCreate): Promise<CustomTool> {
    try {
      return await this.manager.store({ create }, importOrigin);
    } catch (error) {
      const isStorable = create.description !== undefined && create.inputSchema !== undefined;
      if (!(error instanceof Problem) || error.code !== 'invalid_request' || !isStorable) throw error;
      return this.manager.store({ create, broken: error.detail }, importOrigin);
    }
  }

  /** The registration in a file, whose tool runs in the file's folder unless it names another one. */
  private parse(content: string, folder: string): Promise<CustomToolCreate> {
    const body = { workingDir: portablePath(this.config.root, folder), ...manifestIn(content) };
    return this.dtos.read(CustomToolCreate, body);
  }
}

/** A text that differs whenever the file's content may have changed. */
async function fileState(path: string): Promise<string> {
  const stats = await statOf(path);
  return stats ? [stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join(' ') : 'gone';
}

/** A text that differs whenever a file in the folder may have changed. */
async function folderState(folder: string): Promise<string> {
  const names = (await readdir(folder).catch(() => [])).sort().slice(0, maxEntries);
  const states = await Promise.all(
    names.map(async (name) => [name, await fileState(join(folder, name))].join(' ')),
  );
  return states.join('\n');
}
