import { Injectable, Logger } from '@nestjs/common';
import { Problem } from '../common/errors.js';
import { TypedEvents } from '../common/typed-events.js';
import type { Tool } from '../tool-contract/tool.js';
import { KnownTools } from '../tool-health/known-tools.js';

/** Every tool that can be called now, by name. Tools register themselves. */
@Injectable()
export class ToolRegistry {
  private readonly tools = new Map<string, Tool>();
  private readonly logger = new Logger(ToolRegistry.name);
  /** Says after each change; MCP tells its clients. */
  readonly changes = new TypedEvents<void>((error) => this.logger.error(error));

  constructor(private readonly knownTools: KnownTools) {}

  /** @throws Problem `conflict` when another tool has the name */
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

  unregister(name: string): void {
    if (this.tools.delete(name)) this.announce();
  }

  find(name: string): Tool | undefined {
    return this.tools.get(name);
  }

  /** Sorted by name. */
  all(): Tool[] {
    return [...this.tools.values()].sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1));
  }

  get size(): number {
    return this.tools.size;
  }

  private announce(): void {
    const definitions = [...this.tools.values()].map(({ definition }) => definition);
    this.knownTools.set(definitions.map(({ name, thresholds }) => ({ name, thresholds })));
    this.changes.emit();
  }
}
