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

/** A keeper of tools that cannot be called now, or not as they were. */
export interface ToolHistory {
  /** Runs work with a tool, active or not. @param revision absent: the current one @throws Problem `not_found` */
  withTool<T>(name: string, revision: number | undefined, work: (tool: Tool) => Promise<T>): Promise<T>;
}

/** Names that were asked for in vain are remembered so long and so many; then the database is asked again. */
const unknownNames = { max: 1_000, ttl: 1_000 };
/** Names asked of the database at a time: a flood of invented names must not take all of its connections. */
const maxFetches = 4;

/** For callers: other messages may name hosts. */
const whyNotLoaded = (error: unknown): string =>
  (error instanceof Problem && error.detail) ||
  (isDatabaseUnavailable(error) ? 'the database does not answer' : 'the log has the reason');

/** Every tool that can be called now, by name. Tools register themselves. */
@Injectable()
export class ToolRegistry {
  private readonly tools = new Map<string, Tool>();
  /** Created by the first lookup after a change. */
  private names: PlatformNames | undefined;
  /** Set by the room that keeps them: the door's room knows none of the others. */
  history: ToolHistory | undefined;
  /** Loads a tool that another replica may have registered a moment ago. Set by the room that keeps them. */
  fetch: ((name: string) => Promise<void>) | undefined;
  /** What disabled custom tools would offer, by tool. Set by the room that keeps them. */
  readonly disabled = new Map<string, readonly string[]>();
  /** The hidden tools of MCP servers, by name: no list has them. */
  private readonly servers = new Map<string, ServerTool>();
  private readonly fetches = new Map<string, Promise<void>>();
  private readonly unknown = new LRUCache<string, true>(unknownNames);
  private readonly logger = new Logger(ToolRegistry.name);
  /** Emits after each change; the MCP server notifies its clients. */
  readonly changes = new TypedEvents<void>((error) => this.logger.error(error));
  /** Emits after each change of what MCP servers offer beside their tools. */
  readonly offers = new TypedEvents<void>((error) => this.logger.error(error));
  /** Emits the updates of resources that MCP servers tell of. */
  readonly updates = new TypedEvents<{ readonly server: string; readonly uri: string }>((error) =>
    this.logger.error(error),
  );

  constructor(private readonly knownTools: KnownTools) {
    knownTools.unavailable = (name) => this.unavailable(name);
  }

  /** @throws Problem `conflict` if another tool has the name */
  register(tool: Tool): void {
    const { name } = tool.definition;
    if (this.tools.has(name)) throw new Problem('conflict', `The tool name ${name} is taken`);
    this.replace(tool);
  }

  /** Puts a tool in the place of the one with its name, or adds it: calls in flight end on the old one. */
  replace(tool: Tool): void {
    this.tools.set(tool.definition.name, tool);
    this.announce();
  }

  /**
   * Takes these tools away, unless others have taken their names, and puts those in the places of their names. If those
   * describe themselves in the same way, nothing is announced.
   */
  exchange(gone: readonly Tool[], come: readonly Tool[]): void {
    const isSame = gone.length === come.length && come.every((tool) => this.isDescribedBy(tool));
    for (const tool of gone)
      if (this.find(tool.definition.name) === tool) this.tools.delete(tool.definition.name);
    for (const tool of come) this.tools.set(tool.definition.name, tool);
    if (!isSame) this.announce();
  }

  /**
   * The tool itself in place of one that is only listed.
   * @returns undefined if that turned out to be none that can be called
   * @throws Refusal `tool_unavailable` if it is not loaded within the time
   */
  async loaded(tool: Tool, withinMs: number): Promise<Tool | undefined> {
    const { name } = tool.definition;
    const loads = endsWithin(withinMs, tool.load?.() ?? Promise.resolve());
    const why = await loads.then((inTime) => !inTime && `it took over ${withinMs} ms`, whyNotLoaded);
    if (why !== false)
      throw new Refusal('tool_unavailable', `Tool ${name} is not loaded yet: ${why}`, {
        retryAfterMs: 1_000,
      });
    const found = this.find(name);
    return found?.load ? undefined : found;
  }

  /** Puts an MCP server's hidden tool in the place of the one before. */
  putServer(tool: ServerTool): void {
    this.servers.set(tool.definition.name, tool);
    this.offers.emit();
  }

  deleteServer(server: string): void {
    if (this.servers.delete(serverToolName(server))) this.offers.emit();
  }

  /** An MCP server's hidden tool, which `find` does not find: a caller cannot name it. */
  findServer(name: string): ServerTool | undefined {
    return this.servers.get(name);
  }

  /** The hidden tools of all MCP servers, by the servers' names. */
  allServers(): ServerTool[] {
    return [...this.servers.values()].sort((a, b) => (a.server < b.server ? -1 : 1));
  }

  private unavailable(name: string): Unavailability | undefined {
    const tool = this.tools.get(name);
    if (tool) return tool.unavailable?.();
    const isDisabled = [...this.disabled.values()].some((names) => names.includes(name));
    return isDisabled ? { state: 'disabled', why: 'An operator has disabled it' } : undefined;
  }

  /** @param name of the tool, or the alias under which a platform knows it */
  find(name: string): Tool | undefined {
    return this.tools.get(name) ?? this.tools.get(this.platformNames().ownerOf(name) ?? '');
  }

  /** Like `find`; a name that is not known here is looked for among the tools of the other replicas first. */
  async lookUp(name: string): Promise<Tool | undefined> {
    const tool = this.find(name);
    const underWay = this.fetches.get(name);
    if (!tool && underWay) return underWay.then(() => this.find(name));
    if (tool || !this.fetch || this.unknown.has(name) || this.fetches.size >= maxFetches) return tool;
    const fetched = this.fetch(name)
      // The database is away: what is known here decides.
      .catch(() => undefined)
      .finally(() => this.fetches.delete(name));
    this.fetches.set(name, fetched);
    await fetched;
    const found = this.find(name);
    if (!found) this.unknown.set(name, true);
    return found;
  }

  /**
   * Runs work with a tool as it is now, or as it was.
   * @param revision absent: the current one
   * @throws Problem `not_found`
   */
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

  /** Sorted by name. */
  all(): Tool[] {
    return [...this.tools.values()].sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1));
  }

  get size(): number {
    return this.tools.size;
  }

  /** Whether another tool of its name has the same definition. */
  private isDescribedBy(tool: Tool): boolean {
    const before = this.tools.get(tool.definition.name);
    return before !== undefined && before !== tool && isDeepStrictEqual(before.definition, tool.definition);
  }

  private platformNames(): PlatformNames {
    return (this.names ??= new PlatformNames(new Set(this.tools.keys())));
  }

  private announce(): void {
    this.names = undefined;
    const definitions = [...this.tools.values()].map(({ definition }) => definition);
    this.knownTools.set(definitions.map(({ name, thresholds }) => ({ name, thresholds })));
    this.changes.emit();
  }
}
