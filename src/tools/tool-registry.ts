import { Injectable, Logger } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import { TypedEvents } from '../common/typed-events.js';
import type { Tool } from '../tool-contract/tool.js';
import { KnownTools } from '../circuits/known-tools.js';
import { nameRules, PlatformNames } from '../platforms/platform-names.js';
import type { ToolFormat } from '../platforms/tool-formats.js';

/** A keeper of tools that cannot be called now, or not as they were. */
export interface ToolHistory {
  /**
   * Runs work with a tool, active or not.
   * @param revision absent: the current one
   * @throws Problem `not_found`
   */
  withTool<T>(name: string, revision: number | undefined, work: (tool: Tool) => Promise<T>): Promise<T>;
}

/** Every tool that can be called now, by name. Tools register themselves. */
@Injectable()
export class ToolRegistry {
  private readonly tools = new Map<string, Tool>();
  /** Created by the first lookup after a change. */
  private names: PlatformNames | undefined;
  /** Set by the room that keeps them: the door's room knows none of the others. */
  history: ToolHistory | undefined;
  private readonly logger = new Logger(ToolRegistry.name);
  /** Emits after each change; the MCP server notifies its clients. */
  readonly changes = new TypedEvents<void>((error) => this.logger.error(error));

  constructor(private readonly knownTools: KnownTools) {}

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

  /** Takes these tools away, unless others have taken their names, and puts those in the places of their names. */
  exchange(gone: Iterable<Tool>, come: Iterable<Tool>): void {
    for (const tool of gone)
      if (this.find(tool.definition.name) === tool) this.tools.delete(tool.definition.name);
    for (const tool of come) this.tools.set(tool.definition.name, tool);
    this.announce();
  }

  /** @param name of the tool, or the alias under which a platform knows it */
  find(name: string): Tool | undefined {
    return this.tools.get(name) ?? this.tools.get(this.platformNames().ownerOf(name) ?? '');
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
