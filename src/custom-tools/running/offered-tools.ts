import type { Tool } from '../../tool-contract/tool.js';
import type { ToolRegistry } from '../../tools/tool-registry.js';
import type { CustomToolWrapper } from './custom-tool-wrapper.js';

/** The tools in the registry that custom tools stand for: each for itself, an MCP server for its own. */
export class OfferedTools {
  private readonly byWrapper = new Map<string, readonly Tool[]>();

  constructor(private readonly registry: ToolRegistry) {}

  /** What a wrapper offers now, in place of what one of its name did. A name that another tool has stays with that. */
  set(wrapper: CustomToolWrapper): void {
    const { name } = wrapper.definition;
    const before = this.byWrapper.get(name) ?? [];
    const own = new Set(before);
    const offered = wrapper.offered().filter(({ definition }) => {
      const holder = this.registry.find(definition.name);
      return holder === undefined || own.has(holder);
    });
    this.byWrapper.set(name, offered);
    const [come, gone] = [
      offered.filter((tool) => !own.has(tool)),
      before.filter((tool) => !offered.includes(tool)),
    ];
    if (come.length + gone.length > 0) this.registry.exchange(gone, come);
  }

  remove(name: string): void {
    const gone = this.byWrapper.get(name);
    if (gone && gone.length > 0) this.registry.exchange(gone, []);
    this.byWrapper.delete(name);
  }

  /** By which agents call what a custom tool offers. */
  names(name: string): string[] {
    return (this.byWrapper.get(name) ?? []).map(({ definition }) => definition.name);
  }
}
