import { Inject, Injectable, Logger } from '@nestjs/common';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Problem } from '../../common/errors.js';
import { forEachOf } from '../../common/for-each-of.js';
import { IntervalLoop } from '../../common/interval-loop.js';
import { APP_CONFIG, type AppConfig } from '../../config/app-config.js';
import { CustomToolManager } from './custom-tool-manager.js';
import { couldNotTry } from '../launch/tool-inspector.js';
import { CustomToolRuntimes } from '../running/custom-tool-runtimes.js';
import type { CustomToolWrapper } from '../running/custom-tool-wrapper.js';
import { FolderWatcher } from './folder-watcher.js';
import { InstalledToolsImporter } from './installed-tools.importer.js';
import { isScriptName } from '../launch/program-files.js';
import { RetrySchedule } from './retry-schedule.js';
import { differingFiles, filesKey } from '../entity/revision-content.js';

/** A file that was written this long ago is taken to be whole. */
const settledMs = 150;
/** Tools that are tried with new files at a time. */
const reloadsAtOnce = 4;
/** Files that were tried in vain and have not changed may be tools all the same: something else was in their way. */
const longestPauseMs = 60_000;

/**
 * Notices changed files of tools while the server runs: a new or changed tool.json, and the program of every tool that
 * is loaded. Looks every CUSTOM_TOOLS_RELOAD_INTERVAL, and at once when the system says that something changed.
 */
@Injectable()
export class ToolReloader {
  private readonly logger = new Logger(ToolReloader.name);
  private readonly loop: IntervalLoop;
  private readonly watcher: FolderWatcher;
  /** Files that were tried in vain, by tool: tried again at once when they change, else after growing pauses. */
  private readonly refused = new Map<string, string>();
  private readonly tries: RetrySchedule;
  private saidThatItPolls = false;

  constructor(
    @Inject(APP_CONFIG) private readonly config: AppConfig,
    private readonly importer: InstalledToolsImporter,
    private readonly manager: CustomToolManager,
    private readonly runtimes: CustomToolRuntimes,
  ) {
    const { reloadIntervalMs } = config.customTools;
    this.tries = new RetrySchedule(reloadIntervalMs, Math.max(longestPauseMs, reloadIntervalMs));
    this.loop = new IntervalLoop(
      () => this.look(),
      reloadIntervalMs,
      (error) => this.logger.error(error),
    );
    this.watcher = new FolderWatcher(
      (folder, name) => this.noticed(folder, name),
      (folder, error) => this.cannotWatch(folder, error),
    );
  }

  start(): void {
    this.loop.start();
    // Folders are watched from the first look on.
    this.loop.hasten(0);
  }

  /** A look under way ends by itself. */
  stop(): void {
    void this.loop.stop();
    this.watcher.close();
  }

  private async look(): Promise<void> {
    await this.watcher.watchOnly(await this.folders());
    await this.importer.importAll();
    const tools = this.runtimes.all();
    const loaded = new Set(tools.map(({ definition }) => definition.name));
    for (const name of this.refused.keys()) if (!loaded.has(name)) this.accept(name);
    await forEachOf(tools, reloadsAtOnce, (tool) =>
      this.reloadIfChanged(tool).catch((error: unknown) => this.logger.error(error)),
    );
  }

  private async folders(): Promise<string[]> {
    const { dir } = this.config.customTools;
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
    return [dir, ...entries.filter((entry) => !entry.isFile()).map(({ name }) => join(dir, name))];
  }

  /** What tools write beside themselves (data, logs) is no reason to look. */
  private noticed(folder: string, name: string | null): void {
    const matters =
      name === null || name === 'tool.json' || isScriptName(name) || folder === this.config.customTools.dir;
    if (matters) this.loop.hasten(settledMs);
  }

  private async reloadIfChanged(tool: CustomToolWrapper): Promise<void> {
    const { name } = tool.definition;
    const files = await this.runtimes.filesOf(tool);
    const changed = differingFiles(tool.running.files, files);
    if (changed.length === 0) return this.accept(name);
    if (this.refused.get(name) === filesKey(files) && !this.tries.isDue(name, performance.now())) return;
    await delay(settledMs);
    if (filesKey(await this.runtimes.filesOf(tool)) !== filesKey(files)) return this.loop.hasten(settledMs);
    try {
      await this.manager.reload(name);
      this.accept(name);
      this.logger.log(`${name} runs changed files: ${changed.join(', ')}`);
    } catch (error) {
      // The next look finds the same change.
      if (couldNotTry(error)) return;
      if (!(error instanceof Problem)) throw error;
      this.refuse(name, filesKey(files), error.detail);
    }
  }

  private accept(name: string): void {
    this.refused.delete(name);
    this.tries.forget(name);
  }

  private refuse(name: string, files: string, reason: string): void {
    if (this.refused.get(name) !== files) {
      this.accept(name);
      this.logger.warn(`${name} goes on as it was, its changed files are no tool: ${reason}`);
    }
    this.refused.set(name, files);
    this.tries.failed(name, performance.now());
  }

  private cannotWatch(folder: string, error: unknown): void {
    if (this.saidThatItPolls) return;
    this.saidThatItPolls = true;
    const { reloadIntervalMs } = this.config.customTools;
    this.logger.warn(
      { err: error },
      `${folder} cannot be watched; it is looked at every ${reloadIntervalMs} ms`,
    );
  }
}
