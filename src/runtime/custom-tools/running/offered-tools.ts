import type { ToolRegistry } from '../../../call/door/tool-registry.js';
import type { Tool, ToolDefinition } from '../../../web/contract/tool.js';
import type { CustomTool } from '../entity/custom-tool.entity.js';
import { definitionOf } from './custom-tool-wrapper.js';
import { mcpDefinitionsOf } from './mcp-definitions.js';

/** Registered tools by custom tool: the tool itself, or the tools of an MCP server. */
export class OfferedTools {
  private readonly tools = new Map<string, readonly Tool[]>();

  constructor(private readonly registry: ToolRegistry) {}

  /** The registered tools by the name of their custom tool. */
  get byTool(): ReadonlyMap<string, readonly Tool[]> {
    return this.tools;
  }

  /** The names by which agents call what a custom tool offers. */
  namesOf(tool: string): string[] {
    return (this.tools.get(tool) ?? []).map(({ definition }) => definition.name);
  }

  /** Registers stored tools from their rows, which suffice to list them. A call loads its tool first. */
  list(stored: readonly CustomTool[], load: (name: string) => Promise<void>): void {
    const added = stored.flatMap((tool) => {
      if (tool.status === 'inactive') this.registry.disabled.set(tool.name, namesOf(tool));
      if (tool.status === 'inactive' || this.tools.has(tool.name)) return [];
      const free = definitionsOf(tool).filter(({ name }) => !this.registry.find(name));
      const unloaded = free.map((definition) => unloadedTool(definition, () => load(tool.name)));
      this.tools.set(tool.name, unloaded);
      return unloaded;
    });
    this.registry.exchange([], added);
  }

  /** Replaces the tools that a custom tool offers, except those whose name belongs to another tool. */
  put(tool: string, wanted: readonly Tool[]): void {
    const before = this.tools.get(tool) ?? [];
    const offered = wanted.filter(({ definition }) => {
      const holder = this.registry.find(definition.name);
      return holder === undefined || before.includes(holder);
    });
    this.tools.set(tool, offered);
    const added = offered.filter((each) => !before.includes(each));
    const removed = before.filter((each) => !offered.includes(each));
    if (added.length + removed.length > 0) this.registry.exchange(removed, added);
  }

  /** Unregisters all tools that a custom tool offers. */
  delete(tool: string): void {
    const removed = this.tools.get(tool) ?? [];
    this.tools.delete(tool);
    if (removed.length > 0) this.registry.exchange(removed, []);
  }
}

/** A tool that is listed by its row only. Its first call loads it: compiles its schema and checks its program. */
function unloadedTool(definition: ToolDefinition, load: () => Promise<void>): Tool {
  const use = (): never => {
    throw new Error(`${definition.name} is used before it is loaded`);
  };
  return { definition, load, validate: use, run: use };
}

/** The definitions of the tools that a custom tool offers. */
const definitionsOf = (tool: CustomTool): ToolDefinition[] =>
  tool.protocol === 'mcp' ? mcpDefinitionsOf(tool) : [definitionOf(tool)];

/** The names by which agents call what a stored tool offers. */
export const namesOf = (tool: CustomTool): string[] => definitionsOf(tool).map(({ name }) => name);
