import { Logger } from '@nestjs/common';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../../../base/common/errors.js';
import { newId } from '../../../base/common/ids.js';
import { IntervalLoop } from '../../../base/common/interval-loop.js';
import { messageOf } from '../../../base/common/message-of.js';
import type { Replicas } from '../../../base/database/replicas.js';
import type { PartHealth } from '../../../base/observability/contributors.js';
import type { Slot, Tool } from '../../../web/contract/tool.js';

const lookMs = 5_000;
const markName = '.toolkeeper-folder';

/** Name of the part of readiness, by which each replica tells the others the id of its folder. */
export const filesPart = 'files';

const notShared =
  'The replicas have different files folders, so that a file would be found by some calls only. ' +
  'An operator must mount one volume as FILES_DIR at each replica';

/** Finds out whether FILES_DIR is the same at all replicas: the first one leaves an id there, which all compare. */
export class SharedFolder {
  private readonly logger = new Logger(SharedFolder.name);
  private id: string | undefined;
  private isShared = true;
  readonly loop = new IntervalLoop(
    () => this.look(),
    lookMs,
    (error, again) => again || this.logger.warn(`FILES_DIR is not looked at for now: ${messageOf(error)}`),
  );

  constructor(
    private readonly folder: string,
    private readonly replicas: Pick<Replicas, 'id' | 'alive'>,
  ) {}

  check(): PartHealth {
    const { id, isShared } = this;
    return isShared ? { status: 'up', id } : { status: 'degraded', message: notShared, id };
  }

  /** The tool, which is refused while the folder is not shared. */
  guarding(tool: Tool): Tool {
    const takeSlot = (): Slot => {
      if (!this.isShared) throw new Refusal('tool_unavailable', notShared, { retryAfterMs: lookMs });
      return { run: (input, run) => tool.run(input, run), release: () => undefined };
    };
    return { ...tool, takeSlot };
  }

  private async look(): Promise<void> {
    const mark = join(this.folder, markName);
    await mkdir(this.folder, { recursive: true, mode: 0o750 });
    await writeFile(mark, newId(), { flag: 'wx' }).catch(() => undefined);
    this.id = await readFile(mark, 'utf8');
    const others = (await this.replicas.alive()).filter(({ id }) => id !== this.replicas.id);
    const ids = others.map(({ parts }) => parts[filesPart]?.['id']).filter((id) => id !== undefined);
    const wasShared = this.isShared;
    this.isShared = ids.every((id) => id === this.id);
    if (wasShared && !this.isShared) this.logger.warn(notShared);
  }
}
