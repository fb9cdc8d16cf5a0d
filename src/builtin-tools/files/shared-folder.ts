import { Logger } from '@nestjs/common';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../../common/canonical-json.js';
import { hourMs } from '../../common/clock.js';
import { Refusal } from '../../common/errors.js';
import { IntervalLoop } from '../../common/interval-loop.js';
import { messageOf } from '../../common/message-of.js';
import type { Replicas } from '../../database/replicas.js';
import type { PartHealth } from '../../observability/contributors.js';
import type { Tool } from '../../tool-contract/tool.js';

const lookMs = 5_000;
/** A replica that has just come is seen in the table before its mark is seen on a network file system. */
const missesToTell = 2;
const prefix = '.replica-';

/** Name of the part of readiness; replicas without it have no tools for files. */
export const filesPart = 'files';

const notShared =
  'The replicas have different files folders, so that a file would be found by some calls only. ' +
  'An operator must mount one volume as FILES_DIR at each replica';

/** Finds out whether FILES_DIR is the same at all replicas: each leaves a mark there, and looks for those of the others. */
export class SharedFolder {
  private readonly logger = new Logger(SharedFolder.name);
  private readonly loop: IntervalLoop;
  private misses = 0;

  constructor(
    private readonly folder: string,
    private readonly replicas: Pick<Replicas, 'id' | 'alive'>,
  ) {
    this.loop = new IntervalLoop(
      () => this.look(),
      lookMs,
      (error, again) => again || this.logger.warn(`FILES_DIR is not looked at for now: ${messageOf(error)}`),
    );
  }

  start(): void {
    this.loop.start(0);
  }

  async stop(): Promise<void> {
    await this.loop.stop();
    await rm(join(this.folder, markOf(this.replicas.id)), { force: true }).catch(() => undefined);
  }

  check(): PartHealth {
    return this.isShared ? { status: 'up' } : { status: 'degraded', message: notShared };
  }

  /** The tool, which is refused while the folder is not shared. */
  guarding(tool: Tool): Tool {
    const takeSlot = (): (() => void) => {
      if (!this.isShared) throw new Refusal('tool_unavailable', notShared, { retryAfterMs: lookMs });
      return () => undefined;
    };
    return { ...tool, takeSlot };
  }

  private get isShared(): boolean {
    return this.misses < missesToTell;
  }

  private async look(): Promise<void> {
    const own = markOf(this.replicas.id);
    await mkdir(this.folder, { recursive: true, mode: 0o750 });
    const found = new Set((await readdir(this.folder)).filter((name) => name.startsWith(prefix)));
    if (!found.has(own)) await writeFile(join(this.folder, own), '');
    const alive = (await this.replicas.alive()).filter(({ parts }) => filesPart in parts);
    const marks = alive.map(({ id }) => markOf(id)).filter((mark) => mark !== own);
    const wasShared = this.isShared;
    this.misses = marks.every((mark) => found.has(mark)) ? 0 : this.misses + 1;
    if (wasShared && !this.isShared) this.logger.warn(notShared);
    for (const name of found) if (name !== own && !marks.includes(name)) await this.forget(name);
  }

  /** A replica that was killed leaves its mark behind. */
  private async forget(mark: string): Promise<void> {
    const path = join(this.folder, mark);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > hourMs) await rm(path, { force: true });
  }
}

const markOf = (replica: string): string => `${prefix}${sha256(replica).slice(0, 16)}`;
