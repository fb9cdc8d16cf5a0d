import { Injectable, Logger } from '@nestjs/common';
import { TypedEvents } from '../../base/common/typed-events.js';
import { defaultThresholds, type ToolThresholds, type Unavailability } from '../../web/contract/tool.js';

/** A registered tool, as health knows it. */
interface KnownTool {
  readonly name: string;
  /** The tool's limits that differ from the defaults. */
  readonly thresholds?: Partial<ToolThresholds>;
}

const noThresholds: Partial<ToolThresholds> = {};

/** The registered tools; the registry pushes them after each change. */
@Injectable()
export class KnownTools {
  private readonly logger = new Logger(KnownTools.name);
  private tools: ReadonlyMap<string, KnownTool> = new Map();
  /** Why a tool cannot be called. Set by the registry. */
  unavailable: (name: string) => Unavailability | undefined = () => undefined;
  /** Emits after each push. */
  readonly changes = new TypedEvents<void>((error) => this.logger.error(error));

  set(tools: readonly KnownTool[]): void {
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.changes.emit();
  }

  has(name: string): boolean {
    return this.tools.has(name);
  }

  names(): string[] {
    return [...this.tools.keys()];
  }

  /** A tool's thresholds, with defaults for those that it does not set. */
  thresholdsOf(name: string): ToolThresholds {
    return { ...defaultThresholds, ...this.ownThresholdsOf(name) };
  }

  /** Only thresholds that the tool itself sets. */
  ownThresholdsOf(name: string): Partial<ToolThresholds> {
    return this.tools.get(name)?.thresholds ?? noThresholds;
  }
}
