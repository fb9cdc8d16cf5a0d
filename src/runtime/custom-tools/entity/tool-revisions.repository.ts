import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, LessThan, QueryFailedError, Repository } from 'typeorm';
import { canonicalJson, sha256 } from '../../../base/common/canonical-json.js';
import { Problem } from '../../../base/common/errors.js';
import { escapePointer } from '../../../base/common/field-problems.js';
import { differenceAt, type JsonDifference, jsonDifferences } from '../../../base/common/json-differences.js';
import { isObject } from '../../../base/common/json.js';
import { type StoredEnv, withoutValues } from '../../secrets/env-cipher.js';
import { CustomTool, ToolSettings, type ToolStatus } from './custom-tool.entity.js';
import { initialOf } from './setting-facets.js';
import {
  CustomToolRevision,
  type ProgramFile,
  type RevisionSource,
  type ToolConfiguration,
} from './tool-revision.entity.js';

/** Content that identifies a revision. */
export interface RevisionContent {
  readonly configuration: ToolConfiguration;
  readonly env: StoredEnv;
  readonly files: readonly ProgramFile[];
}

/** One difference between two revisions; its path leads into `{configuration, files}`. */
type RevisionChange = JsonDifference;

/** Settings that each revision holds; of all others it holds those that differ from their defaults. */
const alwaysHeld = new Set(
  (
    'name description version command args workingDir inputSchema timeoutMs maxRetries retryDelayMs poolSize minProcesses ' +
    'maxConcurrency keepAlive annotations sandbox permissions fallback callsPerInvestigation tags metadata'
  ).split(' '),
);

/** The settings that make a revision. A setting that is added later changes no revision of a tool that leaves it alone. */
export function configurationOf(tool: CustomTool): ToolConfiguration {
  const { env: _apart, ...initial } = initialOf(ToolSettings);
  const held = Object.entries(initial).flatMap(([name, value]) => {
    const own = tool[name as keyof typeof initial];
    return own === undefined || (own === value && !alwaysHeld.has(name)) ? [] : [[name, own]];
  });
  return Object.fromEntries(held) as ToolConfiguration;
}

/** Configures a tool as a revision says. The place of its command was pinned for that command alone. */
export function restore(tool: CustomTool, revision: Pick<RevisionContent, 'configuration' | 'env'>): void {
  const { configuration, env } = revision;
  const isSameCommand = tool.command === configuration.command;
  const settings = { ...initialOf(ToolSettings), ...configuration, env };
  Object.assign(tool, settings, !isSameCommand && { pinnedCommand: null });
}

/** Whether a revision configures a tool as it is. */
export const isConfiguredAs = (tool: CustomTool, { configuration, env }: RevisionContent): boolean =>
  canonicalJson([configurationOf(tool), envIdentity(tool.env)]) ===
  canonicalJson([configuration, envIdentity(env)]);

/** SHA-256 of the canonical JSON of configuration, environment and the content of the program's files; no value is guessed by it. */
export function contentHashOf({ configuration, env, files }: RevisionContent): string {
  const contents = Object.fromEntries(files.map((file) => [file.path, fileIdentity(file)]));
  return sha256(
    canonicalJson({ configuration: { ...configuration, env: envIdentity(env) }, files: contents }),
  );
}

/** The same without what has been approved of an MCP server: what decides how processes run. */
export function processHashOf({ configuration, ...others }: RevisionContent): string {
  const { definitions: _approved, ...ofProcesses } = configuration;
  return contentHashOf({ configuration: ofProcesses, ...others });
}

/** Tells environments apart without their values. */
function envIdentity(env: StoredEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.id]));
}

/** When a file was written counts only where its content is too large to be read. */
function fileIdentity({ hash, size, modifiedAt }: ProgramFile): string {
  return hash ?? `${size} bytes of ${modifiedAt}`;
}

/** Equal for files of equal content. */
export function filesKey(files: readonly ProgramFile[]): string {
  return files.map((file) => `${file.path} ${fileIdentity(file)}`).join('\n');
}

/** @returns the paths of files whose content differs */
export function differingFiles(a: readonly ProgramFile[], b: readonly ProgramFile[]): string[] {
  const [before, after] = [a, b].map(
    (files) => new Map(files.map((file) => [file.path, fileIdentity(file)])),
  );
  const paths = new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])]);
  return [...paths].filter((path) => before?.get(path) !== after?.get(path)).sort();
}

/**
 * Field by field, sorted by path. Objects are gone through, lists are compared as a whole; of an environment variable
 * only its name is told.
 */
export function changesBetween(
  before: RevisionContent | undefined,
  after: RevisionContent,
): RevisionChange[] {
  const changes = [
    ...fieldChanges('/configuration', before?.configuration, after.configuration),
    ...environmentChanges(before?.env ?? {}, after.env),
    ...fileChanges(before?.files ?? [], after.files),
  ];
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The differences of two JSON values whose lists are compared as a whole. @param path of both, a JSON pointer */
export const fieldChanges = (path: string, before: unknown, after: unknown): RevisionChange[] =>
  jsonDifferences(before, after, membersOf, path);

/** The members of an object; absent values have none. */
function membersOf(value: unknown): object | undefined {
  if (value === undefined) return {};
  return isObject(value) ? value : undefined;
}

function environmentChanges(before: RevisionContent['env'], after: RevisionContent['env']): RevisionChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const [from, to] = [envIdentity(before), envIdentity(after)];
  const [hiddenBefore, hiddenAfter] = [withoutValues(before), withoutValues(after)];
  return [...names]
    .filter((name) => ownMember(from, name) !== ownMember(to, name))
    .map((name) =>
      differenceAt(
        `/configuration/env/${escapePointer(name)}`,
        ownMember(hiddenBefore, name),
        ownMember(hiddenAfter, name),
      ),
    );
}

/** Own members only: every object inherits a `constructor`. */
const ownMember = <T>(of: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(of, name) ? of[name] : undefined;

function fileChanges(before: readonly ProgramFile[], after: readonly ProgramFile[]): RevisionChange[] {
  return differingFiles(before, after).map((path) => {
    const of = (files: readonly ProgramFile[]): ProgramFile | undefined =>
      files.find((file) => file.path === path);
    return differenceAt(`/files/${escapePointer(path)}`, of(before), of(after));
  });
}

const uniqueViolation = '23505';

/** Author and reason of a change. */
export interface RevisionOrigin {
  readonly source: RevisionSource;
  /** The caller's user id, or `toolkeeper`. */
  readonly by: string;
  readonly restores?: number;
}

/** Rows of custom_tool_revisions, each written together with the tool that it is the revision of. */
@Injectable()
export class ToolRevisionsRepository {
  constructor(
    @InjectRepository(CustomToolRevision) private readonly revisions: Repository<CustomToolRevision>,
  ) {}

  /**
   * Stores a new tool with its first revision.
   * @throws Problem `conflict` if the name is taken
   */
  async insert(tool: CustomTool, content: RevisionContent, origin: RevisionOrigin): Promise<CustomTool> {
    const first = { ...tool, revision: 1 };
    try {
      return await this.revisions.manager.transaction(async (manager) => {
        await manager.insert(CustomTool, first as never);
        await this.add(manager, first, content, origin);
        return manager.findOneByOrFail(CustomTool, { id: first.id });
      });
    } catch (error) {
      const code =
        error instanceof QueryFailedError ? (error.driverError as { code?: string }).code : undefined;
      if (code === uniqueViolation) throw new Problem('conflict', `The tool name ${tool.name} is taken`);
      throw error;
    }
  }

  /**
   * Stores a changed tool, and a revision of it where its content differs from the current one's.
   * @param readAs its status when it was read: looking at its executable takes time, and another replica may disable it
   * @throws Problem `not_found` if it was removed, `conflict` if it was changed since it was read
   */
  update(
    tool: CustomTool,
    content: RevisionContent,
    origin: RevisionOrigin,
    readAs: ToolStatus,
  ): Promise<CustomTool> {
    return this.revisions.manager.transaction(async (manager) => {
      const lock = { mode: 'pessimistic_write' } as const;
      const stored = await manager.findOne(CustomTool, { where: { id: tool.id }, lock });
      if (!stored) throw new Problem('not_found', `There is no custom tool named ${tool.name} any more`);
      if (stored.revision !== tool.revision) {
        throw new Problem(
          'conflict',
          `${tool.name} was changed meanwhile: it is at revision ${stored.revision}`,
        );
      }
      if ((stored.status === 'inactive') !== (readAs === 'inactive')) {
        const what = stored.status === 'inactive' ? 'disabled' : 'enabled';
        throw new Problem('conflict', `${tool.name} was ${what} meanwhile`);
      }
      const current = await manager.findOneBy(CustomToolRevision, {
        toolId: tool.id,
        revision: tool.revision,
      });
      const isNew = current?.contentHash !== contentHashOf(content);
      const revision = isNew ? tool.revision + 1 : tool.revision;
      if (isNew) await this.add(manager, { ...tool, revision }, content, origin);
      const { id, createdAt: _stays, updatedAt: _isNow, ...row } = tool;
      // Not `save`: it compares member by member, and cannot compare members that are named like Object's own.
      await manager.update(CustomTool, { id }, { ...row, revision } as never);
      return manager.findOneByOrFail(CustomTool, { id });
    });
  }

  /** The newest revision with this content: a replica may run other files than the one that changed the tool last. */
  async numberOf(toolId: string, content: RevisionContent): Promise<number | undefined> {
    const where = { toolId, contentHash: contentHashOf(content) };
    return (await this.revisions.findOne({ select: { revision: true }, where, order: { revision: 'DESC' } }))
      ?.revision;
  }

  /** @throws Problem `not_found` */
  async get(
    { id: toolId, name }: Pick<CustomTool, 'id' | 'name'>,
    revision: number,
  ): Promise<CustomToolRevision> {
    const found = await this.revisions.findOneBy({ toolId, revision });
    if (!found) throw new Problem('not_found', `${name} has no revision ${revision}`);
    return found;
  }

  /** The newest first. @param before only those with a smaller number */
  list(toolId: string, limit: number, before?: number): Promise<CustomToolRevision[]> {
    const where = { toolId, ...(before !== undefined && { revision: LessThan(before) }) };
    return this.revisions.find({ where, order: { revision: 'DESC' }, take: limit });
  }

  private async add(
    manager: EntityManager,
    { id: toolId, revision }: Pick<CustomTool, 'id' | 'revision'>,
    content: RevisionContent,
    { source, by, restores }: RevisionOrigin,
  ): Promise<void> {
    const { configuration, env, files } = content;
    const contentHash = contentHashOf(content);
    const who = { source, restores: restores ?? null, createdBy: by };
    const row = { toolId, revision, contentHash, configuration, env, files, ...who };
    await manager.insert(CustomToolRevision, row as never);
  }
}
