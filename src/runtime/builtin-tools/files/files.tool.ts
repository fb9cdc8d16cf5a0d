import { Logger } from '@nestjs/common';
import { mkdir, readFile as contentOf, writeFile as write } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../../../base/common/errors.js';
import { newId } from '../../../base/common/ids.js';
import { IntervalLoop } from '../../../base/common/interval-loop.js';
import { messageOf } from '../../../base/common/message-of.js';
import type { Replicas } from '../../../base/database/replicas.js';
import type { PartHealth } from '../../../base/observability/contributors.js';
import { defineTool, whole } from '../../../web/contract/define-tool.js';
import type { Slot, Tool } from '../../../web/contract/tool.js';
import { callerMistake } from '../failures.js';
import { cut } from '../limits.js';
import { filePath, type ProjectFiles } from './project-files.js';

/** Max bytes of a character in UTF-8. */
const maxBytesPerChar = 4;

/** The tool that reads a file. */
export const readFile = (files: ProjectFiles): Tool =>
  defineTool<{ path: string; maxLength: number }>({
    name: 'readFile',
    description: 'Read a text file from the files folder, such as one that writeFile wrote.',
    input: {
      type: 'object',
      properties: {
        path: filePath,
        maxLength: whole(1, 100_000, 50_000, 'Max characters'),
      },
      required: ['path'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: false },
    tags: ['files'],
    // An error in the text of a file is not a failure of the call.
    semanticErrors: 'off',
    run: async ({ path, maxLength }, { context }) => {
      const { bytes, size } = await files.read(context.projectId, path, maxLength * maxBytesPerChar);
      const text = textOf(bytes, bytes.length < size);
      if (text === undefined) throw callerMistake(`${path} is no text in UTF-8`);
      const content = cut(text, maxLength);
      return { path, content, size, truncated: bytes.length < size || content.length < text.length };
    },
  });

/** Decodes UTF-8. @param isPart whether the last character may be incomplete @returns undefined if it is invalid */
function textOf(bytes: Buffer, isPart: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isPart });
  } catch {
    return undefined;
  }
}

/** The tool that writes a file. */
export const writeFile = (files: ProjectFiles): Tool =>
  defineTool<{ path: string; content: string; mode: 'overwrite' | 'append' }>({
    name: 'writeFile',
    description: 'Write a text file to the files folder. Missing folders are created.',
    input: {
      type: 'object',
      properties: {
        path: filePath,
        content: { type: 'string', description: 'The text' },
        mode: {
          enum: ['overwrite', 'append'],
          default: 'overwrite',
          description: 'Treatment of an existing file',
        },
      },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    annotations: { readOnly: false, idempotent: false, destructive: true, openWorld: false },
    tags: ['files'],
    run: async ({ path, content, mode }, { context }) => {
      const written = await files.write(context.projectId, path, content, mode);
      return { path, ...written, mode };
    },
  });

/** Interval at which the folders of all replicas are compared. */
const checkMs = 5_000;
/** File in FILES_DIR with its id. */
const idFileName = '.toolkeeper-folder';

/** Name of the health part with the id of a replica's folder, which other replicas read. */
export const filesPart = 'files';

const notShared =
  'The replicas have different files folders, so that a file would be found by some calls only. ' +
  'An operator must mount one volume as FILES_DIR at each replica';

/** Checks that all replicas have the same FILES_DIR. The first one stores an id there, which all compare. */
export class SharedFolder {
  private readonly logger = new Logger(SharedFolder.name);
  /** Id in the folder; undefined until it was read. */
  private id: string | undefined;
  private isShared = true;
  readonly loop = new IntervalLoop(
    () => this.compare(),
    checkMs,
    (error, again) => {
      if (!again) this.logger.warn(`FILES_DIR is not looked at for now: ${messageOf(error)}`);
    },
  );

  constructor(
    private readonly folder: string,
    private readonly replicas: Pick<Replicas, 'id' | 'alive'>,
  ) {}

  /** The health part of this replica. */
  health(): PartHealth {
    const { id, isShared } = this;
    return isShared ? { status: 'up', id } : { status: 'degraded', message: notShared, id };
  }

  /** The tool, whose calls are refused while the folder is not shared. */
  guarded(tool: Tool): Tool {
    const takeSlot = (): Slot => {
      if (!this.isShared) throw new Refusal('tool_unavailable', notShared, { retryAfterMs: checkMs });
      return { run: (input, run) => tool.run(input, run), release: () => undefined };
    };
    return { ...tool, takeSlot };
  }

  /** Compares the id with those of the other replicas. */
  private async compare(): Promise<void> {
    const idFile = join(this.folder, idFileName);
    await mkdir(this.folder, { recursive: true, mode: 0o750 });
    // Fails if the file exists.
    await write(idFile, newId(), { flag: 'wx' }).catch(() => undefined);
    this.id = await contentOf(idFile, 'utf8');
    const others = (await this.replicas.alive()).filter(({ id }) => id !== this.replicas.id);
    const ids = others.map(({ parts }) => parts[filesPart]?.['id']).filter((id) => id !== undefined);
    const wasShared = this.isShared;
    this.isShared = ids.every((id) => id === this.id);
    if (wasShared && !this.isShared) this.logger.warn(notShared);
  }
}
