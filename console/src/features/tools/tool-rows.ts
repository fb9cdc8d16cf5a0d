import type { CircuitStateView, CustomToolView, ToolHealthSummaryView, ToolView } from '../../lib/api.js';
import { allTools, type ListedTool } from '../../lib/all-tools.js';
import type { toolsSearch } from '../../lib/searches.js';

/** A tool as its line in the list: what it is, and how it did in the last hour. */
export interface ToolRow extends ListedTool {
  readonly status: CustomToolView['status'];
  readonly grade: ToolHealthSummaryView['status'] | undefined;
  readonly circuit: CircuitStateView['state'];
  readonly calls: number;
  readonly successRate: number;
  readonly latencyMs: number;
  readonly lastUsed: string | null;
}

export type Wanted = ReturnType<typeof toolsSearch>;

export function toolRows(
  tools: readonly ToolView[],
  custom: readonly CustomToolView[],
  health: Readonly<Record<string, ToolHealthSummaryView>>,
  circuits: readonly CircuitStateView[],
): ToolRow[] {
  const statuses = new Map(custom.map(({ name, status }) => [name, status]));
  return allTools(tools, custom).map(({ name, description, kind }) => {
    const figures = health[name];
    return {
      ...{ name, description, kind, status: statuses.get(name) ?? 'active' },
      // Grade and circuit are those of each tool, not of its server.
      grade: kind === 'server' ? undefined : (figures?.status ?? 'unknown'),
      circuit: circuits.find(({ tool }) => tool === name)?.state ?? 'closed',
      calls: figures?.totalCalls ?? 0,
      successRate: figures?.successRate ?? 0,
      latencyMs: figures?.avgLatencyMs ?? 0,
      lastUsed: figures?.lastUsed ?? null,
    };
  });
}

export function wantedRows(
  rows: readonly ToolRow[],
  { q = '', kind, grade, circuit, status }: Wanted,
): ToolRow[] {
  const words = q.toLowerCase().split(/\s+/);
  return rows
    .filter(
      (row) =>
        words.every((word) => `${row.name} ${row.description}`.toLowerCase().includes(word)) &&
        (kind === undefined || row.kind === kind) &&
        (grade === undefined || row.grade === grade) &&
        (circuit === undefined || row.circuit === circuit) &&
        (status === undefined || row.status === status),
    )
    .sort((a, b) => a.name.localeCompare(b.name));
}
