import { Injectable } from '@nestjs/common';
import { defaultThresholds, type HealthThresholds } from './grading.js';

/** What health knows of a registered tool. */
export interface KnownTool {
  readonly name: string;
  /** Where the tool's limits differ from the defaults. */
  readonly thresholds?: Partial<HealthThresholds>;
}

/** The tools that are registered now; the registry pushes them in after each change. */
@Injectable()
export class KnownTools {
  private tools: ReadonlyMap<string, KnownTool> = new Map();

  set(tools: readonly KnownTool[]): void {
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  has(name: string): boolean {
    return this.tools.has(name);
  }

  names(): string[] {
    return [...this.tools.keys()];
  }

  thresholdsOf(name: string): HealthThresholds {
    return { ...defaultThresholds, ...this.tools.get(name)?.thresholds };
  }
}
