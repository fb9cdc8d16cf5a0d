import { canonicalJson, sha256 } from '../../../base/common/canonical-json.js';
import { escapePointer } from '../../../base/common/field-problems.js';
import { differenceAt, type JsonDifference, jsonDifferences } from '../../../base/common/json-differences.js';
import { isObject } from '../../../base/common/json.js';
import type { CustomTool } from './custom-tool.entity.js';
import { envIdentity, shownEnv, type StoredEnv } from '../../secrets/env-cipher.js';
import type { ProgramFile, ToolConfiguration } from './tool-revision.entity.js';
import { initialSettings } from './tool-settings.js';

/** Content that identifies a revision. */
export interface RevisionContent {
  readonly configuration: ToolConfiguration;
  readonly env: StoredEnv;
  readonly files: readonly ProgramFile[];
}

/** A difference between two revisions. Its path is a pointer into `{configuration, files}`. */
export type RevisionChange = JsonDifference;

/** Settings that every revision stores; others only if they differ from the default. */
const alwaysStored = new Set(
  (
    'name description version command args workingDir inputSchema timeoutMs maxRetries retryDelayMs poolSize minProcesses ' +
    'maxConcurrency keepAlive annotations sandbox permissions fallback callsPerInvestigation tags metadata'
  ).split(' '),
);

/** The settings of a revision. New settings of later versions do not change the revisions of tools that do not use them. */
export function configurationOf(tool: CustomTool): ToolConfiguration {
  const { env: _hashedSeparately, ...defaults } = initialSettings;
  const configuration: Record<string, unknown> = {};
  for (const [name, initial] of Object.entries(defaults)) {
    const own = tool[name as keyof typeof defaults];
    if (own !== undefined && (own !== initial || alwaysStored.has(name))) configuration[name] = own;
  }
  return configuration;
}

/** Gives a tool the configuration of a revision. The pinned path stays only if the command is the same. */
export function restoreRevision(
  tool: CustomTool,
  revision: Pick<RevisionContent, 'configuration' | 'env'>,
): void {
  const { configuration, env } = revision;
  const isSameCommand = tool.command === configuration.command;
  const settings = { ...initialSettings, ...configuration, env };
  Object.assign(tool, settings, !isSameCommand && { pinnedCommand: null });
}

/** Whether a tool has the configuration and environment of a revision. */
export const isConfiguredAs = (tool: CustomTool, { configuration, env }: RevisionContent): boolean =>
  canonicalJson([configurationOf(tool), envIdentity(tool.env)]) ===
  canonicalJson([configuration, envIdentity(env)]);

/** SHA-256 of the canonical JSON of configuration, environment and files. Secrets are represented by their identities. */
export function contentHashOf({ configuration, env, files }: RevisionContent): string {
  const identities = Object.fromEntries(identitiesByPath(files));
  return sha256(
    canonicalJson({ configuration: { ...configuration, env: envIdentity(env) }, files: identities }),
  );
}

/** The content hash without an MCP server's approved definitions, which do not affect how processes run. */
export function processHashOf({ configuration, ...others }: RevisionContent): string {
  const { definitions: _approved, ...processSettings } = configuration;
  return contentHashOf({ configuration: processSettings, ...others });
}

/** The hash of a file; of a file too large to hash, its size and time. */
function fileIdentity({ hash, size, modifiedAt }: ProgramFile): string {
  return hash ?? `${size} bytes of ${modifiedAt}`;
}

/** A text that is equal for files of equal content. */
export function filesKey(files: readonly ProgramFile[]): string {
  return files.map((file) => `${file.path} ${fileIdentity(file)}`).join('\n');
}

/** The sorted paths of files that differ in content or exist in one list only. */
export function differingFiles(before: readonly ProgramFile[], after: readonly ProgramFile[]): string[] {
  const identities = identitiesByPath(before);
  const newIdentities = identitiesByPath(after);
  const paths = new Set([...identities.keys(), ...newIdentities.keys()]);
  return [...paths].filter((path) => identities.get(path) !== newIdentities.get(path)).sort();
}

const identitiesByPath = (files: readonly ProgramFile[]): ReadonlyMap<string, string> =>
  new Map(files.map((file) => [file.path, fileIdentity(file)]));

/** Differences by field, sorted by path. Lists are compared as a whole; secret variables show their name only. */
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

/** The differences of two JSON values, with lists compared as a whole. @param path JSON pointer to both */
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
  const [shownBefore, shownAfter] = [shownEnv(before), shownEnv(after)];
  return [...names]
    .filter((name) => ownMember(from, name) !== ownMember(to, name))
    .map((name) =>
      differenceAt(
        `/configuration/env/${escapePointer(name)}`,
        ownMember(shownBefore, name),
        ownMember(shownAfter, name),
      ),
    );
}

/** An own member, because all objects inherit names such as `constructor`. */
const ownMember = <T>(object: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

function fileChanges(before: readonly ProgramFile[], after: readonly ProgramFile[]): RevisionChange[] {
  return differingFiles(before, after).map((path) => {
    const fileIn = (files: readonly ProgramFile[]): ProgramFile | undefined =>
      files.find((file) => file.path === path);
    return differenceAt(`/files/${escapePointer(path)}`, fileIn(before), fileIn(after));
  });
}
