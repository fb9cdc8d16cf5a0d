import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { isDeepStrictEqual } from 'node:util';
import { endsWithin } from '../../base/common/abortable.js';
import { isDatabaseUnavailable, Problem, Refusal } from '../../base/common/errors.js';
import { TypedEvents } from '../../base/common/typed-events.js';
import type { Tool, Unavailability } from '../../web/contract/tool.js';
import { type ServerTool, serverToolName } from './server-tool.js';
import { KnownTools } from '../circuits/known-tools.js';
import { nameRules, PlatformNames } from '../platforms/platform-names.js';
import type { ToolFormat } from '../platforms/tool-formats.js';

/** Gives access to disabled tools and to earlier revisions. */
export interface ToolHistory {
  /** Runs work with a tool, active or not. @param revision absent: the current one @throws Problem `not_found` */
  withTool<T>(name: string, revision: number | undefined, work: (tool: Tool) => Promise<T>): Promise<T>;
}

/** Size and duration of the cache of unknown names, for which the database is not queried again. */
const unknownNames = { max: 1_000, ttl: 1_000 };
/** Max names to look up in the database at a time, so that many invented names do not take all connections. */
const maxFetches = 4;

/** The reason, as callers may see it: the messages of other errors may name hosts. */
const whyNotLoaded = (error: unknown): string =>
  (error instanceof Problem && error.detail) ||
  (isDatabaseUnavailable(error) ? 'the database does not answer' : 'the log has the reason');

const nameOf = ({ definition }: Tool): string => definition.name;

/** All tools that can be called now, by name. */
@Injectable()
export class ToolRegistry {
  private readonly tools = new Map<string, Tool>();
  /** Created by the first lookup after a change. */
  private currentPlatformNames: PlatformNames | undefined;
  /** Set by the module of custom tools, which this one cannot import. */
  history: ToolHistory | undefined;
  /** Loads a tool that another replica may have just registered. Set by the module of custom tools. */
  fetch: ((name: string) => Promise<void>) | undefined;
  /** Names that disabled custom tools would register, by tool. Set by the module of custom tools. */
  readonly disabled = new Map<string, readonly string[]>();
  /** Hidden tools of MCP servers, by name. No list contains them. */
  private readonly servers = new Map<string, ServerTool>();
  /** Lookups in the database under way, by name. */
  private readonly fetches = new Map<string, Promise<void>>();
  /** Names that were not found a moment ago. */
  private readonly unknown = new LRUCache<string, true>(unknownNames);
  private readonly logger = new Logger(ToolRegistry.name);
  /** Emits after each change; the MCP server notifies its clients. */
  readonly changes = new TypedEvents<void>((error) => this.logger.error(error));
  /** Emits after each change of the resources and prompts of MCP servers. */
  readonly offers = new TypedEvents<void>((error) => this.logger.error(error));
  /** Emits updates of resources that MCP servers report. */
  readonly updates = new TypedEvents<{ readonly server: string; readonly uri: string }>((error) =>
    this.logger.error(error),
  );

  constructor(private readonly knownTools: KnownTools) {
    knownTools.unavailable = (name) => this.unavailabilityOf(name);
  }

  /** Adds a tool. @throws Problem `conflict` if another tool has the name */
  register(tool: Tool): void {
    const { name } = tool.definition;
    if (this.tools.has(name)) throw new Problem('conflict', `The tool name ${name} is taken`);
    this.replace(tool);
  }

  /** Adds a tool or replaces the one with its name. Running calls end on the old one. */
  replace(tool: Tool): void {
    this.tools.set(tool.definition.name, tool);
    this.announce();
  }

  /**
   * Removes tools, unless others have their names by now, and adds or replaces others. If the definitions stay the same,
   * no change is emitted.
   */
  exchange(removed: readonly Tool[], added: readonly Tool[]): void {
    const addedNames = new Set(added.map(nameOf));
    const isSame =
      removed.every((tool) => addedNames.has(nameOf(tool))) &&
      added.every((tool) => this.replacesEqual(tool));
    for (const tool of removed) if (this.tools.get(nameOf(tool)) === tool) this.tools.delete(nameOf(tool));
    for (const tool of added) this.tools.set(nameOf(tool), tool);
    if (!isSame) this.announce();
  }

  /**
   * Loads a tool of which only the definition is known.
   * @param placeholder the tool as it is registered until then
   * @returns the loaded tool; undefined if it cannot be called
   * @throws Refusal `tool_unavailable` if it is not loaded in time
   */
  async load(placeholder: Tool, withinMs: number): Promise<Tool | undefined> {
    const name = nameOf(placeholder);
    const failure = await endsWithin(withinMs, placeholder.load?.() ?? Promise.resolve()).then(
      (inTime) => (inTime ? undefined : `it took over ${withinMs} ms`),
      whyNotLoaded,
    );
    const detail = `Tool ${name} is not loaded yet: ${failure}`;
    if (failure !== undefined) throw new Refusal('tool_unavailable', detail, { retryAfterMs: 1_000 });
    const tool = this.find(name);
    // Still a placeholder: the tool cannot be called.
    return tool?.load ? undefined : tool;
  }

  /** Adds or replaces an MCP server's hidden tool. */
  putServer(tool: ServerTool): void {
    this.servers.set(tool.definition.name, tool);
    this.offers.emit();
  }

  deleteServer(server: string): void {
    if (this.servers.delete(serverToolName(server))) this.offers.emit();
  }

  /** An MCP server's hidden tool. `find` does not return it, so that callers cannot name it. */
  findServer(name: string): ServerTool | undefined {
    return this.servers.get(name);
  }

  /** The hidden tools of all MCP servers, by the servers' names. */
  allServers(): ServerTool[] {
    return [...this.servers.values()].sort((a, b) => (a.server < b.server ? -1 : 1));
  }

  /** A tool by its name, or by its alias on a platform. */
  find(name: string): Tool | undefined {
    return this.tools.get(name) ?? this.tools.get(this.platformNames().ownerOf(name) ?? '');
  }

  /** Like `find`, but looks for an unknown name among the tools of other replicas first. */
  async lookUp(name: string): Promise<Tool | undefined> {
    const tool = this.find(name);
    const running = this.fetches.get(name);
    if (!tool && running) return running.then(() => this.find(name));
    if (tool || !this.fetch || this.unknown.has(name) || this.fetches.size >= maxFetches) return tool;
    const fetched = this.fetch(name)
      // Without the database, the tools of this replica decide.
      .catch(() => undefined)
      .finally(() => this.fetches.delete(name));
    this.fetches.set(name, fetched);
    await fetched;
    const fetchedTool = this.find(name);
    if (!fetchedTool) this.unknown.set(name, true);
    return fetchedTool;
  }

  /** Runs work with a tool or an earlier revision of it, as `ToolHistory` does. */
  async withTool<T>(
    name: string,
    revision: number | undefined,
    work: (tool: Tool) => Promise<T>,
  ): Promise<T> {
    const tool = revision === undefined ? this.find(name) : undefined;
    if (tool) return work(tool);
    if (this.history) return this.history.withTool(name, revision, work);
    throw new Problem('not_found', `There is no custom tool named ${name}`);
  }

  /** The name of a tool in a platform's format. */
  nameIn(format: ToolFormat, { definition: { name } }: Tool): string {
    return this.platformNames().shown(name, nameRules[format]);
  }

  /** All tools, sorted by name. */
  all(): Tool[] {
    return [...this.tools.values()].sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1));
  }

  get size(): number {
    return this.tools.size;
  }

  /** Why a registered tool, or one of a disabled custom tool, cannot be called now. */
  private unavailabilityOf(name: string): Unavailability | undefined {
    const tool = this.tools.get(name);
    if (tool) return tool.unavailable?.();
    const isDisabled = [...this.disabled.values()].some((names) => names.includes(name));
    return isDisabled ? { state: 'disabled', why: 'An operator has disabled it' } : undefined;
  }

  /** Whether a tool would replace another one with an equal definition. */
  private replacesEqual(tool: Tool): boolean {
    const before = this.tools.get(tool.definition.name);
    return before !== undefined && before !== tool && isDeepStrictEqual(before.definition, tool.definition);
  }

  private platformNames(): PlatformNames {
    return (this.currentPlatformNames ??= new PlatformNames(new Set(this.tools.keys())));
  }

  private announce(): void {
    this.currentPlatformNames = undefined;
    this.knownTools.set([...this.tools.values()].map(({ definition }) => definition));
    this.changes.emit();
  }
}
